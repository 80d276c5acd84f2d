"use strict";
onnxperf.startTables();
if (onnxperf.startCharts) onnxperf.startCharts();
if (onnxperf.startDrawings) onnxperf.startDrawings();
onnxperf.startCopying();
onnxperf.startLinks();
onnxperf.startTheme();
document.documentElement.dataset.ready = "";
