"use strict";
// A cell per pair of sizes, its colour by winner or by time; a thick line where the winner changes.
onnxperf.charts.matrix = (data, look, { width }) => {
  const parts = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const mixed = (colour, share) => {
    const [full, back] = [parts(colour), parts(look.back)];
    return full.map((value, place) => Math.round(back[place] + share * (value - back[place])));
  };
  const light = ([red, green, blue]) => 0.3 * red + 0.59 * green + 0.11 * blue > 140;
  const fill = (cell) => (cell.failed ? parts(look.panel) : mixed(look.colors[cell.colour], cell.strength));
  const thick = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.text, lineWidth: 3 } });
  const axis = (name, labels, more) => onnxperf.axis(look, name, { type: "category", data: labels, axisTick: { show: false }, splitLine: { show: false }, axisLabel: { color: look.text, formatter: (text) => onnxperf.cut(text, width < 600 ? 10 : 24) }, ...more });
  const longest = Math.max(...data.rows.map((text) => Math.min(text.length, width < 600 ? 10 : 24)));
  const rowName = onnxperf.cut(data.rowName, 16);
  return {
    grid: { left: 8 + Math.max(0, 7 * (rowName.length - longest)), right: 8, top: 30, bottom: 34 + 20 * data.legend.length, containLabel: true },
    tooltip: { trigger: "item", formatter: (event) => data.cells[event.dataIndex].words },
    xAxis: axis(data.columnName, data.columns, { position: "top", nameGap: 24 }),
    yAxis: axis(rowName, data.rows, { inverse: true, nameLocation: "start", nameGap: 10, nameTextStyle: { color: look.dim, align: "right", padding: [0, 8, 0, 0] } }),
    graphic: data.legend.map((each, place) => ({
      type: "group",
      left: 24,
      bottom: 6 + 20 * (data.legend.length - 1 - place),
      silent: true,
      children: [
        { type: "rect", shape: { x: 0, y: 0, width: 14, height: 14 }, style: { fill: each.failed ? look.panel : `rgb(${mixed(look.colors[each.colour], each.strength)})`, stroke: look.line } },
        { type: "text", style: { text: onnxperf.cut(each.words, Math.floor(width / 7.5)), x: 20, y: 7, verticalAlign: "middle", fill: look.dim, fontSize: 12 } },
      ],
    })),
    series: [
      {
        type: "custom",
        data: data.cells.map((cell) => ({ value: [cell.column, cell.row], key: cell.key })),
        encode: { x: 0, y: 1 },
        renderItem: (params, api) => {
          const cell = data.cells[params.dataIndex];
          const [x, y] = api.coord([cell.column, cell.row]);
          const [cellWidth, cellHeight] = api.size([1, 1]);
          const [left, top] = [x - cellWidth / 2, y - cellHeight / 2];
          const colour = fill(cell);
          const shape = { x: left + 0.5, y: top + 0.5, width: cellWidth - 1, height: cellHeight - 1 };
          const room = Math.floor((cellWidth - 4) / 6.4);
          const text = cell.text.length <= room ? cell.text : /^\d/.test(cell.text) || room < 4 ? "" : onnxperf.cut(cell.text, room);  // half a number misleads
          return {
            type: "group",
            children: [
              { type: "rect", shape, style: { fill: `rgb(${colour})`, stroke: cell.failed ? look.red : undefined, lineDash: [3, 3] } },
              ...(text && cellHeight > 13 ? [{ type: "text", style: { text, x, y, align: "center", verticalAlign: "middle", fill: cell.failed ? look.red : light(colour) ? "#1b1f24" : "#ffffff", fontSize: 11, fontWeight: cell.bold ? 600 : 400 } }] : []),
              ...(cell.right ? [thick(left + cellWidth, top, left + cellWidth, top + cellHeight)] : []),
              ...(cell.below ? [thick(left, top + cellHeight, left + cellWidth, top + cellHeight)] : []),
            ],
          };
        },
      },
    ],
  };
};
