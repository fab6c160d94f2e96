// What a drawing says: places of its marks read back from the SVG as values, by inverting the
// scales that its axes show. Knows Observable Plot's way of writing marks and nothing of our page.

/** Marks of one drawing in screen pixels; runs in the browser. */
function marks(svg) {
  const at = (element, x, y) => {
    const point = new DOMPoint(x, y).matrixTransform(element.getScreenCTM());
    return [point.x, point.y];
  };
  const number = (element, name) => Number(element.getAttribute(name) ?? 0);
  const within = (label, tag) => [...svg.querySelectorAll(`g[data-mark='${label}'] ${tag}`)];
  const colour = (element, name) => element.getAttribute(name) ?? element.closest(`[${name}]`)?.getAttribute(name) ?? "";
  const centre = (element) => {
    const box = element.getBBox();
    return at(element, box.x + box.width / 2, box.y + box.height / 2);
  };
  const box = (element) => {
    const [x1, y1] = at(element, number(element, "x"), number(element, "y"));
    const [x2, y2] = at(element, number(element, "x") + number(element, "width"), number(element, "y") + number(element, "height"));
    return { x1, x2, y1, y2, fill: colour(element, "fill") };
  };
  const path = (element) => ({
    points: (element.getAttribute("d").match(/-?[\d.]+(e-?\d+)?,-?[\d.]+(e-?\d+)?/g) ?? []).map((pair) => at(element, ...pair.split(",").map(Number))),
    stroke: colour(element, "stroke"), fill: colour(element, "fill"), width: Number(colour(element, "stroke-width") || 1),
  });
  const ticks = (axis) => {
    const lines = within(`${axis}-axis tick`, "path");
    const labels = within(`${axis}-axis tick label`, "text");
    return labels.map((label, i) => {
      const [x, y] = lines.length === labels.length ? at(lines[i], 0, 0) : centre(label);
      const shift = lines[i]?.getAttribute("d")?.match(/M(-?[\d.]+),(-?[\d.]+)/);
      const moved = shift && lines.length === labels.length ? at(lines[i], Number(shift[1]), Number(shift[2])) : [x, y];
      return { x: moved[0], y: moved[1], text: label.textContent };
    });
  };
  // A label of several lines has a tspan for each.
  const facets = (axis) => within(`${axis}-axis tick label`, "text").map((label) => {
    const [x, y] = centre(label);
    const lines = [...label.querySelectorAll("tspan")].map((line) => line.textContent);
    return { x, y, text: lines.length ? lines.join("\n") : label.textContent };
  });
  return {
    ticks: { x: ticks("x"), y: ticks("y") }, facets: { fx: facets("fx"), fy: facets("fy") },
    frames: within("frame", "rect").map(box), rects: within("rect", "rect").map(box),
    dots: within("dot", "circle").map((c) => {
      const [x, y] = at(c, number(c, "cx"), number(c, "cy"));
      return { x, y, colour: colour(c, "fill"), stroke: colour(c, "stroke") };
    }),
    tickMarks: within("tick", "line").map((l) => {
      const [x1, y1] = at(l, number(l, "x1"), number(l, "y1"));
      return { x: x1, y: (y1 + at(l, number(l, "x2"), number(l, "y2"))[1]) / 2, colour: colour(l, "stroke") };
    }),
    rules: within("rule", "line").map((l) => {
      const [x1, y1] = at(l, number(l, "x1"), number(l, "y1"));
      const [x2, y2] = at(l, number(l, "x2"), number(l, "y2"));
      return { x1, x2, y1, y2, colour: colour(l, "stroke") };
    }),
    lines: within("line", "path").map(path), areas: within("area", "path").map(path),
    texts: within("text", "text").map((t) => ({ y: centre(t)[1], text: t.textContent })),
  };
}

/** `drawing`: a locator of one SVG. */
export function read(drawing) {
  return drawing.evaluate(marks);
}

const valueOf = (text) => Number(text.replace("−", "-"));

/** The straight line, or the logarithmic one, through the ticks: pixel to value, and a pixel's worth. */
export function scaleOf(ticks, along, log = false) {
  const known = ticks.filter((t) => t.text !== "").map((t) => [t[along], log ? Math.log(valueOf(t.text)) : valueOf(t.text)]);
  const [first, last] = [known[0], known.at(-1)];
  const slope = (last[1] - first[1]) / (last[0] - first[0]);
  const invert = (pixel) => {
    const value = first[1] + (pixel - first[0]) * slope;
    return log ? Math.exp(value) : value;
  };
  return { invert, worth: Math.abs(slope) };
}

/** The name of the facet whose label is nearest along the axis; "" where there is one facet only. */
export function nearest(labels, along, place) {
  if (labels.length === 0) return "";
  return [...labels].sort((a, b) => Math.abs(a[along] - place) - Math.abs(b[along] - place))[0].text;
}

/** The frame that holds a point. */
export function frameOf(frames, x, y) {
  return frames.find((f) => x >= f.x1 - 1 && x <= f.x2 + 1 && y >= f.y1 - 1 && y <= f.y2 + 1);
}
