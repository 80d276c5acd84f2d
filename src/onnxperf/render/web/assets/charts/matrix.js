"use strict";
// A cell for each pair of a row and a column, colored by what it says; a thick line where the winner changes.
onnxperf.painters.matrix = (picture, look, { width, figure, redraw }) => {
  const { cells, legend, row_name: rowName, column_name: columnName, rows, columns } = picture;
  onnxperf.followKeys(figure, cells.map((cell) => cell.key), redraw);
  const fill = ({ failed, color, strength }) => (failed ? look.panel : onnxperf.mixed(look.colors[color], look.back, strength));
  const nameRoom = Math.max(onnxperf.nameRoom(rows, width), Math.min(onnxperf.textWidth(rowName), width * 0.3));
  const left = nameRoom + 14;
  // Names of columns lean where there is no room for them next to each other.
  const widest = onnxperf.widest(columns);
  const leans = widest > (width - left - 8) / columns.length - 6;
  const headRoom = leans ? Math.min(widest, 150, width * 0.25) : widest;
  const lean = leans ? Math.ceil(headRoom * 0.72) : 0;
  const right = leans ? Math.max(8, lean - 4) : 8;
  const each = (width - left - right) / columns.length;
  const thick = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: look.text, lineWidth: 3 }, z2: 10 });
  const written = (text, x, y, size, style) => ({ type: "text", style: { text, x, y, align: "center", verticalAlign: "middle", fontSize: size, ...style } });
  const isNumber = (text) => /^[-+~<>]?\d/.test(text);
  const draw = ({ dataIndex }, api) => {
    const cell = cells[dataIndex];
    const [x, y] = api.coord([cell.column, cell.row]);
    const [cellWidth, cellHeight] = api.size([1, 1]);
    const [from, top] = [x - cellWidth / 2, y - cellHeight / 2];
    const color = fill(cell);
    const ink = cell.failed ? look.red : onnxperf.ink(color);
    const fits = (text, size) => onnxperf.textWidth(text, size) <= cellWidth - 6;
    const text = fits(cell.text, 11) ? cell.text : isNumber(cell.text) ? "" : onnxperf.fitted(cell.text, cellWidth - 6, 11);  // half a number misleads
    const small = text && cell.small && cellHeight >= 28 && fits(cell.small, 9) ? cell.small : "";
    const isLit = onnxperf.isLit(cell.key);
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: from + 0.5, y: top + 0.5, width: cellWidth - 1, height: cellHeight - 1 }, style: { fill: color, stroke: isLit ? look.text : cell.failed ? look.red : undefined, lineWidth: isLit ? 3 : 1, lineDash: cell.failed && !isLit ? [3, 3] : undefined } },
        ...(text && cellHeight > 13 ? [written(text, x, small ? y - 6 : y, 11, { fill: ink, fontWeight: cell.bold ? 600 : 400 })] : []),
        ...(small ? [written(small, x, y + 7, 9, { fill: ink })] : []),
        ...(cell.right ? [thick(from + cellWidth, top, from + cellWidth, top + cellHeight)] : []),
        ...(cell.below ? [thick(from, top + cellHeight, from + cellWidth, top + cellHeight)] : []),
      ],
    };
  };
  // What colors mean stands above, as many as there is room for on a line.
  let [line, used] = [0, 0];
  const places = legend.map(({ words }) => {
    const wide = Math.min(onnxperf.textWidth(words), width - 40) + 42;
    if (used && used + wide - 22 > width) [line, used] = [line + 1, 0];
    used += wide;
    return [used - wide, line];
  });
  const more = 20 * line;
  const above = legend.length ? 24 + more : 0;
  const entry = (found, place) => ({
    type: "group",
    left: 8 + places[place][0],
    top: 4 + 20 * places[place][1],
    silent: true,
    children: [
      { type: "rect", shape: { x: 0, y: 0, width: 14, height: 14 }, style: { fill: fill(found), stroke: found.failed ? look.red : look.line, lineDash: found.failed ? [3, 3] : undefined } },
      { type: "text", style: { text: onnxperf.fitted(found.words, width - 40), x: 20, y: 7, verticalAlign: "middle", fill: look.dim, fontSize: 12 } },
    ],
  });
  const interval = Math.ceil(15 / each) - 1;
  return {
    extra: lean + more,
    grid: { left, right, top: above + lean + (columnName ? 50 : 30), bottom: 14 },
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => cells[dataIndex].words },
    xAxis: onnxperf.axis(look, columnName, {
      type: "category",
      data: columns.map((_, place) => place),
      position: "top",
      nameGap: 26 + lean,
      axisTick: { show: false },
      splitLine: { show: false },
      axisLabel: { color: look.text, interval, rotate: leans ? -45 : 0, formatter: (place) => onnxperf.fitted(columns[place], headRoom) },
    }),
    yAxis: onnxperf.nameAxis(look, rows, nameRoom, { name: onnxperf.fitted(rowName, nameRoom), nameLocation: "start", nameGap: 10, nameTextStyle: { color: look.dim, align: "right", padding: [0, 8, 0, 0] } }),
    graphic: legend.map(entry),
    series: [{ id: "cells", type: "custom", data: cells.map((cell) => ({ value: [cell.column, cell.row], key: cell.key })), encode: { x: 0, y: 1 }, renderItem: draw }],
  };
};
