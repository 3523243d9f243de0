// Measures of a page as readers see it.
"use strict";

// True if the page scrolls sideways; then the elements beyond the right edge, outside of boxes that scroll.
function beyond() {
  const scrolls = one => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  const boxed = one => one && (scrolls(one) || boxed(one.parentElement));
  const found = [...document.querySelectorAll("body *")]
    .filter(one => !["SCRIPT", "STYLE"].includes(one.tagName) && !one.closest("defs, clipPath"))
    .filter(one => one.getBoundingClientRect().width && one.getBoundingClientRect().right > innerWidth + 1)
    .filter(one => !boxed(one.parentElement));
  return [document.documentElement.scrollWidth > innerWidth,
          ...found.map(one => `${one.tagName} ${one.className.baseVal ?? one.className} ${one.textContent.slice(0, 40)}`)];
}

// Texts of charts beyond their chart's box, which cuts them.
function cut() {
  return [...document.querySelectorAll(".js-plotly-plot")].flatMap(chart => {
    const box = chart.getBoundingClientRect();
    return [...chart.querySelectorAll("text")].filter(text => text.textContent.trim()
      && text.getBoundingClientRect().width).filter(text => {
        const at = text.getBoundingClientRect();
        return at.left < box.left - 2 || at.right > box.right + 2 || at.top < box.top - 2 || at.bottom > box.bottom + 2;
      }).map(text => text.textContent);
  });
}

// Legends, menus and titles of a chart that overlap.
function overlapping() {
  return [...document.querySelectorAll(".js-plotly-plot")].flatMap(chart => {
    const parts = [...chart.querySelectorAll(".legend, .updatemenu-container, .slider-container, .xtitle, .ytitle")]
      .map(one => [one.getAttribute("class"), one.getBoundingClientRect()]).filter(([, box]) => box.width);
    return parts.flatMap(([name, a], at) => parts.slice(at + 1).filter(([, b]) =>
      a.left < b.right - 2 && b.left < a.right - 2 && a.top < b.bottom - 2 && b.top < a.bottom - 2)
      .map(([other]) => `${name} and ${other}`));
  });
}

// Contrast of each text with the nearest background behind it, or with its mark in a chart.
function contrasts() {
  const numbers = colour => colour.match(/[\d.]+/g).map(Number);
  const light = colour => {
    const [r, g, b] = colour.map(one => one / 255).map(one => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  const background = one => {
    if (!one) return [255, 255, 255];
    const colour = numbers(getComputedStyle(one).backgroundColor);
    return colour.length < 4 || colour[3] === 1 ? colour : background(one.parentElement);
  };
  const brightened = (one, colour) => {
    const layer = one.closest(".scatterlayer");
    const by = layer ? Number((getComputedStyle(layer).filter.match(/[\d.]+/) ?? [1])[0]) : 1;
    return colour.slice(0, 3).map(part => Math.min(255, part * by));
  };
  const found = [];
  for (const text of document.querySelectorAll(".js-plotly-plot text")) {
    if (!text.textContent.trim() || text.closest(".hoverlayer")) continue;
    const point = text.closest(".textpoint");
    let behind = background(text.ownerSVGElement.parentElement);
    if (point) {
      const at = [...point.parentElement.children].indexOf(point);
      const mark = point.closest(".trace").querySelectorAll("path.point")[at];
      behind = brightened(mark, numbers(getComputedStyle(mark).fill));
    }
    found.push([text.textContent, contrast(brightened(text, numbers(getComputedStyle(text).fill)), behind)]);
  }
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const parent = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !parent.getClientRects().length || parent.closest("svg, script, style")) continue;
    found.push([walker.currentNode.data, contrast(numbers(getComputedStyle(parent).color), background(parent))]);
  }
  return found;
}

// Texts of table cells with more than five lines.
function tall() {
  return [...document.querySelectorAll("td")].filter(cell => {
    const style = getComputedStyle(cell);
    const lines = document.createRange();
    lines.selectNodeContents(cell);
    return lines.getBoundingClientRect().height > 5.5 * parseFloat(style.lineHeight);
  }).map(cell => cell.textContent.slice(0, 60));
}
