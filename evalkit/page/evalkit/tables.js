// Tables: sort by a column, filter rows, fold long ones, copy.
const FEW = 12, NUMBER = "([+−]?(?:\\d[\\d,]*(?:\\.\\d+)?(?:e[+-]?\\d+)?|∞)|–)", START = RegExp("^<?" + NUMBER), WHOLE = RegExp(`^${NUMBER}$`);
const ESTIMATE = RegExp(`^${NUMBER} \\[${NUMBER}, ${NUMBER}\\]`);
const SIGNED = RegExp(`^(${NUMBER}|-\\d[\\d.]*)%?( \\[${NUMBER}%?, ${NUMBER}%?\\])?$`), RUNS = /^[=+@-]/; // a spreadsheet runs a text that begins so
const MARKED = RegExp(`\\[${NUMBER}%?, ${NUMBER}%?\\](?![\\[(:])|[\\\\\`*~$[\\]]|(?<!\\w)_|_(?!\\w)`, "g");
const LINKED = /\bwww(?=\.)|:(?=\/\/)|(?<![a-z0-9])@(?=\w)|@(?=[a-z][\w-]*\.\w)|[#!](?=\d)/gi;
const markdown = text => text.replace(MARKED, mark => mark[1] ? mark : "\\" + mark).replace(/&/g, "&amp;").replace(LINKED, "$&&#8203;").replace(/</g, "&lt;").replace(/\|/g, "&#124;");
const words = cell => make("p", {innerHTML: cell.innerHTML.replace(/<br>|<div.*<\/div>/gs, " ")}).textContent.trim().replace(/\s+/g, " ");
const plain = text => text.replace(/[,–]/g, "").replace("−", "-").replace("∞", "Infinity");
const sortable = cell => { // its first number, else its words
  const text = words(cell);
  return plain(START.exec(text)?.[1] || text);
};
const SIGNS = {"−": "-", "↑": "\\uparrow", "↓": "\\downarrow", "→": "\\to", "∞": "\\infty", "\\": "\\backslash", "^": "\\hat{}", "~": "\\sim"};
const latex = text => text.replace(/([&%$#_{}])|[−↑↓→∞<>\\^~]/g, (sign, own) => own ? "\\" + own : `$${SIGNS[sign] || sign}$`);
const FORMATS = { // rows of texts, heads first; bold: the cell that is so
  CSV: rows => rows.map((row, r) => row.flatMap((text, i) => {
    const parts = ESTIMATE.exec(text), wide = rows.some(other => ESTIMATE.test(other[i]));
    return parts ? parts.slice(1) : !wide ? text : r ? [text, "", ""] : [text, text + " low", text + " high"];
  }).map(text => WHOLE.test(text) ? plain(text) : `"${RUNS.test(text) && !SIGNED.test(text) ? "'" : ""}${text.replace(/"/g, '""')}"`).join(",")),
  Markdown: rows => rows.flatMap((row, r) => r ? [row] : [row, row.map(() => "--:")]).map((row, r) => r === 1 ? row : row.map(markdown)).map(row => `| ${row.join(" | ")} |`),
  LaTeX: (rows, bold) => ["% \\usepackage{booktabs}", `\\begin{tabular}{l${"r".repeat(rows[0].length - 1)}}`, "\\toprule", ...rows.map((row, r) => row.map((text, i) => {
    const [value, ...rest] = latex(text).split(/\s(?=\[)/);
    return (bold(r, i) ? `\\textbf{${value}}` : value) + (rest[0] ? ` {\\footnotesize ${rest}}` : "");
  }).join(" & ").replace(/^[[*]/, "{}$&") + " \\\\" + (r ? "" : "\n\\midrule")), "\\bottomrule", "\\end{tabular}"],
};
all("table.metrics").forEach((table, index) => {
  const heads = all("thead th", table), body = table.tBodies[0], box = table.parentNode;
  all(":scope > .rows", box.parentNode).forEach(more => { body.append(...all("tbody tr", more)); more.remove(); });
  const lines = [...body.rows], rows = lines.filter(row => row.cells[1]), key = "rows" + index;
  const [filter, tools] = all("#controls")[0].content.cloneNode(true).children, text = filter.firstChild, [every, menu, area, said] = tools.children;
  let order = rows, open = rows.length <= FEW;
  const show = () => {
    const kept = order.filter(row => row.textContent.toLowerCase().includes(text.value.toLowerCase()));
    rows.forEach(row => { row.className = "off"; });
    kept.forEach((row, i) => { row.className = open || i < FEW ? "" : "rest"; });
    body.replaceChildren(...(order === rows && !text.value ? lines : order)); // heads of groups where all stand in order
    every.textContent = open ? "" : `All ${kept.length} rows`;
  };
  if (rows[2]) heads.forEach((head, column) => {
    head.append(make("button", {className: "sort", ariaLabel: "Sort by " + head.textContent}));
    head.onclick = () => {
      const steps = [null, "descending", "ascending"], step = (steps.indexOf(head.ariaSort) + 1 + (!column | /↓/.test(head.textContent))) % 3; // best first
      heads.forEach(other => { other.ariaSort = null; });
      head.ariaSort = steps[step];
      order = step ? rows.map(row => [sortable(row.cells[column]), row]).sort(([a], [b]) => // missing ones last
        !a - !b || a && (step * 2 - 3) * (isNaN(a - b) ? a.localeCompare(b, "en", {numeric: true}) : a - b)).map(pair => pair[1]) : rows;
      show();
    };
  });
  text.oninput = () => { keep(key, text.value, table); show(); };
  tools.onclick = ({target}) => {
    const format = FORMATS[target.textContent];
    if (target === every) { open = true; show(); }
    if (!format) return;
    const cells = [heads, ...order.filter(row => row.className !== "off").map(row => [...row.cells])];
    area.value = format(cells.map(row => row.map(words)), (r, i) => cells[r][i].className === "lead").join("\n");
    area.hidden = false;
    area.select();
    area.hidden = document.execCommand("copy"); // else the text stays, selected
    menu.open = !area.hidden;
    said.value = area.hidden ? "copied" : "";
  };
  text.value = state.get(key); // nothing where there is none
  box.after(tools);
  if (open) return;
  box.before(filter);
  show();
  if (text.value) unfold(box);
  if (box.parentNode.id) all("a.slice").forEach(link => link.onclick = () => { // leads to its rows
    text.value = link.text;
    text.oninput();
  });
});
// The two systems that a list of units compares are the reader's choice; what is of the first two alone is hidden then.
all("[data-pair]").forEach(tools => {
  const {values, heads, start, places} = JSON.parse(tools.dataset.pair), boxes = all("select", tools), rows = all("tr", tools.parentNode);
  tools.onchange = () => {
    const pair = boxes.map(box => box.selectedIndex);
    keep("pair", pair, tools);
    rows.forEach((row, r) => {
      const [a, b] = pair.map(i => values[i][r]), texts = [fixed(a, places), fixed(b, places), fixed(a - b, places, "exceptZero")];
      heads.forEach(([head, which], i) => {
        row.cells[start + i].firstChild.textContent = r ? texts[which] : head.replace("{0}", a).replace("{1}", b);
      });
      [...row.cells].slice(start + heads.length).forEach(cell => { cell.hidden = pair != "0,1"; });
      all("section", row).forEach((list, i) => { list.hidden = !pair.includes(i); });
    });
  };
  state.get("pair")?.split(",").forEach((place, i) => {
    boxes[i].value = values[place][0];
    tools.onchange();
    unfold(tools);
  });
});
