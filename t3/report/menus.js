// Menus of charts whose `layout.meta` has columns: the measured column, the axis, and a filter for
// each axis. The menus stand above the chart, where they wrap on a narrow screen.
"use strict";

function menu(box, name, choices) {
  const label = document.createElement("label");
  const select = document.createElement("select");
  label.append(`${name} `, select);
  for (const [text, value] of choices) select.append(new Option(text, value));
  box.append(label);
  return select;
}

function addMenus(chart) {
  const {columns, measured, axes} = chart.layout.meta;
  const texts = chart.data.map(trace => trace.text);
  const box = document.createElement("div");
  box.className = "menus";
  const up = menu(box, "measured", measured.map(name => [columns[name].title, name]));
  const across = menu(box, "axis", axes.map(name => [name, name]));
  const filters = axes.map(name => {
    const values = [...new Set(columns[name].values.flat())];
    return [name, menu(box, name, [["all", "all"], ...values.map((one, at) => [one ?? "none", at])]), values];
  });
  const show = () => {
    const keeps = (trace, row) => filters.every(([name, select, values]) =>
      select.value === "all" || columns[name].values[trace][row] === values[select.value]);
    const kept = texts.map((text, trace) => [...text.keys()].filter(row => keeps(trace, row)));
    const pick = name => kept.map((rows, trace) => rows.map(row => columns[name].values[trace][row]));
    Plotly.update(
      chart,
      {x: pick(across.value), y: pick(up.value), text: kept.map((rows, trace) => rows.map(row => texts[trace][row]))},
      {"xaxis.title.text": columns[across.value].title, "yaxis.title.text": columns[up.value].title,
       "xaxis.autorange": true, "yaxis.autorange": true, "xaxis.type": "-"},
    );
  };
  [up, across, ...filters.map(([, select]) => select)].forEach(one => one.addEventListener("change", show));
  chart.closest("figure").before(box);
}

addEventListener("load", () => {
  for (const chart of document.querySelectorAll(".js-plotly-plot"))
    if (chart.layout.meta) addMenus(chart);
});
