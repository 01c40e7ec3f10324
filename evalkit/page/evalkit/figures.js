// Figures: what is drawn under the pointer or at the keyboard, in words; one system alone, by its name in the legend.
const corners = mark => {
  let x = 0, y = 0;
  return [...all("path", mark)[0].getAttribute("d").matchAll(/([Ml])(-?[\d.]+)\s?(-?[\d.]+)/g)].map(([, step, a, b]) => [x, y] = [+a + x * (step > "M"), +b + y * (step > "M")]);
};
const raw = (text, place) => text.split(" ")[0] - -place * text.split(" ")[1]; // from a place in the figure to the number there
const scale = text => place => fixed(raw(text, place), text.split(" ")[2]);
const across = (points, x) => points.flatMap(([a, b], i) => { // where an outline is at x
  const [c, d] = points[(i + 1) % points.length];
  return (a - x) * (c - x) > 0 ? [] : a === c ? b : b + (d - b) * (x - a) / (c - a);
}).sort((a, b) => b - a);
const points = mark => {
  const {series, says} = mark.dataset, axes = mark.closest(".axes"), {x, xIs, y, yIs} = axes.dataset, uses = all("use", mark), lines = says?.split("\n");
  const places = uses[0] ? uses.map(({x, y}) => [x.baseVal.value, y.baseVal.value]) : corners(mark), box = mark.getBBox();
  if (lines && !uses[0]) places[0] = [box.x + box.width / 2, box.y];
  const band = all("[data-limits]", axes).find(each => each.dataset.limits === series);
  return places.slice(0, lines?.length).map(([a, b], i) => ({mark, series, a, b, text: () => {
    if (lines) return lines[i];
    const of = scale(y), limits = band ? across(corners(band), a).map(place => of(place + (all("use", band)[0]?.y.baseVal.value || 0))) : [];
    return `${series}\n${xIs} ${scale(x)(a)}\n${yIs} ${of(b)}` + (limits[1] ? ` [${limits[0]}, ${limits.at(-1)}]` : "") + told(series, xIs, raw(x, a), raw(y, b));
  }}));
};
all("figure:has([data-series])").forEach(plot => {
  const tip = make("div", {className: "tip", role: "status"});
  let every, now, only;
  const known = () => every ||= all("[data-series]", plot).flatMap(points);
  const focus = name => {
    only = only !== name && name;
    all("[data-series],[data-limits],[data-key]", plot).forEach(part => part.classList.toggle("away", only > "" && !Object.values(part.dataset).includes(only)));
  };
  const show = dot => {
    now = dot;
    tip.textContent = dot?.text().trim() || "";
    if (!dot) return;
    const box = plot.getBoundingClientRect(), {x, y} = new DOMPoint(dot.a, dot.b).matrixTransform(dot.mark.getScreenCTM());
    tip.style = `left:${x - box.x}px;top:${y - box.y}px;--side:${x - box.x > box.width / 2 ? -100 : 0}%`;
  };
  plot.tabIndex = 0;
  plot.append(tip);
  plot.onpointerenter = () => { every = 0; }; // marks move
  plot.onpointermove = event => {
    const svg = event.target.closest("svg");
    if (!svg) return show();
    const {x, y} = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const far = ({mark, a, b}) => mark.ownerSVGElement === svg && !mark.classList[0] ? Math.hypot(a - x, b - y) : 1e9;
    show(known().reduce((a, b) => far(b) < far(a) ? b : a));
  };
  plot.onpointerleave = plot.onblur = () => show();
  plot.onclick = ({target}) => {
    const name = target.closest("[data-key]");
    focus(name?.dataset.key);
    if (name) show();
  };
  plot.onkeydown = event => { // left and right go along a system, up and down to another, Enter shows it alone
    const way = ["ArrowLeft", "ArrowUp", "Enter", "ArrowDown", "ArrowRight"].indexOf(event.key) - 2, marks = [...new Set(known().map(dot => dot.mark))];
    if (event.target !== plot || way < -2) return;
    event.preventDefault();
    const step = (list, at, by) => list.at((list.indexOf(at) + by) % list.length), next = step(marks, now?.mark, way);
    if (way) show(way % 2 ? every.find(dot => dot.mark === next) : step(every, now, way / 2)); else focus(now?.series);
  };
});
