// Figures: what stands under the pointer or at the keyboard, in words; one system alone, by its name in the legend.
function corners(path) {
  let x = 0, y = 0;
  return [...path.getAttribute("d").matchAll(/([a-z])([^a-z]*)/gi)].filter(step => step[2]).map(([, name, rest]) => {
    const n = rest.match(/-?(\d+\.?\d*|\.\d+)/g).map(Number), h = name === "h" ? n[0] : 0, v = name === "v" ? n[0] : 0;
    [x, y] = name === "M" ? n : h || v ? [x + h, y + v] : [x + n.at(-2), y + n.at(-1)];
    return [x, y];
  });
}
function scale(text) { // from a place in the figure to a number, with the digits that its axis leaves room for
  const [kind, low, high, start, end] = text.split(" "), log = kind === "log", raw = log ? Math.log : Number, step = (raw(high) - raw(low)) / (end - start);
  const places = Math.max(0, -Math.ceil(Math.log10(Math.abs(step) / 10)));
  return at => { const value = raw(low) + (at - start) * step; return fixed(log ? Math.exp(value) : value, places); };
}
function inside(band, x) { // the lowest and the highest place of a band at x
  const points = corners(band), ends = points.flatMap(([a, b], i) => {
    const [c, d] = points[(i + 1) % points.length];
    return (a - x) * (c - x) > 0 ? [] : [a === c ? b : b + (d - b) * (x - a) / (c - a)];
  });
  return ends.length ? [Math.max(...ends), Math.min(...ends)] : null;
}
function points(figure) {
  return all("[data-series]", figure).flatMap(group => {
    const axes = group.closest(".axes"), {series, says} = group.dataset, uses = all("use", group), lines = says ? says.split("\n") : [];
    const places = uses.length ? uses.map(use => [+use.getAttribute("x"), +use.getAttribute("y")]) : corners(group.querySelector("path"));
    const [x, y] = [axes.dataset.x, axes.dataset.y].map(scale), band = all("[data-band]", axes).find(each => each.dataset.band === series);
    return places.map(([a, b], i) => ({group, series, a, b, text: () => {
      if (lines[i]) return lines[i];
      const limits = band && inside(band.querySelector("path"), a);
      return `${series}\n${axes.dataset.xIs} ${x(a)}\n${axes.dataset.yIs} ${y(b)}` + (limits ? ` [${limits.map(y).join(", ")}]` : "");
    }}));
  });
}
all("figure").filter(figure => figure.querySelector("[data-series]")).forEach(figure => {
  const tip = make("div", {className: "tip", role: "status"}), dot = document.createElementNS("http://www.w3.org/2000/svg", "circle");
  let every, now, kept = null;
  const focus = name => all("[data-series], [data-band], [data-legend]", figure).forEach(part => part.classList.toggle("away", name !== null && !Object.values(part.dataset).includes(name)));
  const show = point => {
    now = point;
    tip.textContent = point ? point.text().trim() : "";
    dot.remove();
    if (!point) return;
    const svg = point.group.ownerSVGElement, box = figure.getBoundingClientRect(), at = new DOMPoint(point.a, point.b).matrixTransform(svg.getScreenCTM());
    dot.setAttribute("cx", point.a); dot.setAttribute("cy", point.b); dot.setAttribute("r", 5);
    svg.append(dot);
    tip.style.left = Math.max(0, Math.min(at.x - box.left + 10, box.width - tip.offsetWidth)) + "px";
    tip.style.top = at.y - box.top + 14 + "px";
  };
  figure.tabIndex = 0;
  figure.append(tip);
  figure.onpointermove = event => {
    const svg = event.target.closest("svg");
    every = every || points(figure);
    const at = svg && new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    const near = svg ? every.filter(point => point.group.ownerSVGElement === svg).map(point => [Math.hypot(point.a - at.x, point.b - at.y), point]).sort((a, b) => a[0] - b[0])[0] : null;
    show(near && near[0] < 24 ? near[1] : null);
  };
  figure.onpointerleave = () => show(null);
  figure.onclick = event => {
    const legend = event.target.closest("[data-legend]");
    if (legend) focus(kept = kept === legend.dataset.legend ? null : legend.dataset.legend);
  };
  figure.onfocus = () => { tip.textContent = "← → points, ↑ ↓ lines, Esc all"; };
  figure.onblur = () => show(null);
  figure.onkeydown = event => {
    const step = {ArrowRight: 1, ArrowLeft: -1}[event.key], turn = {ArrowDown: 1, ArrowUp: -1}[event.key];
    if (event.target !== figure || !step && !turn && event.key !== "Escape") return;
    event.preventDefault();
    every = every || points(figure);
    const groups = [...new Set(every.map(point => point.group))], own = every.filter(point => now && point.group === now.group);
    const next = turn ? every.find(point => point.group === groups[(groups.indexOf(now && now.group) + turn + groups.length) % groups.length]) : now ? own[Math.max(0, Math.min(own.length - 1, own.indexOf(now) + step))] : every[0];
    show(step || turn ? next : null);
    focus(kept = step || turn ? next.series : null);
  };
});
