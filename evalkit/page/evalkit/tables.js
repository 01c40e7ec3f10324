// Tables: sort by a column, filter rows, fold long ones, copy.
const FEW = 12, NUMBER = "[+−]?(?:\\d[\\d,]*(?:\\.\\d+)?(?:e[+-]?\\d+)?|∞)|–";
const FIRST = RegExp(`^<?(${NUMBER})`), ESTIMATE = RegExp(`^(${NUMBER})(?: \\[(${NUMBER}), (${NUMBER})\\] ?(.*))?$`);
const ascii = text => text.replace(/,/g, "").replace("−", "-").replace("∞", "Infinity").replace("–", "");
function words(cell) {
  const copy = cell.cloneNode(true);
  all(".sort", copy).forEach(tool => tool.remove());
  all("br", copy).forEach(line => line.replaceWith(" "));
  return copy.textContent.trim().replace(/\s+/g, " ");
}
function sorted(rows, column, sign) { // by the first number of the cells, else by their words; missing ones last
  const pairs = rows.map(row => [words(row.cells[column]), row]), lacks = text => /^–?$/.test(text);
  const numbers = pairs.every(([text]) => lacks(text) || FIRST.test(text)), number = text => ascii(FIRST.exec(text)[1]);
  const order = (a, b) => numbers ? number(a) - number(b) || 0 : a.localeCompare(b, "en", {numeric: true});
  return pairs.sort(([a], [b]) => lacks(a) - lacks(b) || (lacks(a) ? 0 : sign * order(a, b))).map(pair => pair[1]);
}
const SIGNS = {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "–": "--", "−": "$-$", "↑": "$\\uparrow$", "↓": "$\\downarrow$", "→": "$\\rightarrow$", "∞": "$\\infty$", "±": "$\\pm$", "≥": "$\\geq$", "≤": "$\\leq$", "<": "$<$", ">": "$>$"};
const latex = text => text.replace(/[&%$#_{}]/g, "\0$&").replace(/[\\~^–−↑↓→∞±≥≤<>]/g, c => SIGNS[c]).replace(/\0/g, "\\");
const bars = text => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/\|/g, "&#124;");
const FORMATS = {
  CSV: ({rows}) => { // an interval stands in columns of its own
    const wide = rows[0].map((_, i) => rows.some(row => (ESTIMATE.exec(row[i]) || [])[2]));
    return rows.map((row, r) => row.flatMap((text, i) => {
      const parts = ESTIMATE.exec(text), some = parts ? parts.slice(1).map((part, j) => part && j < 3 ? ascii(part) : part) : [text];
      return wide[i] ? r ? [0, 1, 2, 3].map(j => some[j]) : ["", " low", " high", " note"].map(end => text + end) : some[0];
    }).map(text => /[",]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text).join(",") + "\n").join("");
  },
  Markdown: ({caption, rows: [head, ...rows], note}) => {
    const lines = [head, head.map((_, i) => i ? "--:" : ":--"), ...rows].map(row => `| ${row.map(bars).join(" | ")} |\n`);
    return `**${caption}**\n\n${lines.join("")}\n${note}\n`;
  },
  LaTeX: ({caption, rows, note, bold}) => {
    const [head, ...lines] = rows.map((row, r) => row.map((text, i) => {
      const [value, ...rest] = text.split(/ (?=\[)/), main = latex(value);
      return (bold[r][i] ? `\\textbf{${main}}` : main) + (rest.length ? ` {\\footnotesize ${latex(rest.join(" "))}}` : "");
    }).join(" & ") + " \\\\\n");
    const layout = rows[0].map((_, i) => i ? "r" : "l").join("");
    return `\\begin{table}\n\\caption{${latex(caption)}}\n\\begin{tabular}{${layout}}\n\\toprule\n${head}\\midrule\n${lines.join("")}\\bottomrule\n\\end{tabular}\n\\par\\footnotesize ${latex(note)}\n\\end{table}\n`;
  },
};
function copied(text, place) {
  const area = make("textarea", {value: text, readOnly: true, ariaLabel: "Text to copy"}), done = () => { area.remove(); place.value = " copied"; };
  place.parentNode.append(area);
  area.select();
  if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, () => document.execCommand("copy") && done());
  else if (document.execCommand("copy")) done(); // else the text stays, selected
}
function furnish(table, index) {
  const box = table.closest(".scroll") || table, heads = all("thead th", table), body = table.tBodies[0];
  const more = box.parentNode.querySelector(":scope > details.rows");
  if (!body || !heads.length) return;
  if (more) { body.append(...all("tbody tr", more)); more.remove(); }
  const rows = [...body.rows], key = "filter" + index, count = make("output", {className: "muted"});
  const text = make("input", {type: "search", placeholder: "Filter rows", ariaLabel: "Filter rows"});
  const every = make("button", {type: "button", textContent: `Show all ${rows.length} rows`});
  let order = rows, open = false;
  const show = () => {
    const wanted = text.value.toLowerCase(), kept = order.filter(row => row.textContent.toLowerCase().includes(wanted));
    body.append(...order);
    rows.forEach(row => { row.hidden = true; row.className = ""; });
    kept.forEach((row, i) => { row.hidden = false; row.className = open || i < FEW ? "" : "rest"; });
    every.hidden = open || kept.length <= FEW;
    count.value = wanted ? `${kept.length} of ${rows.length} rows` : "";
  };
  const tools = make("div", {className: "tools"}), status = make("output");
  if (rows.length > 2) heads.forEach((head, column) => {
    const press = make("button", {type: "button", className: "sort", ariaLabel: "Sort by " + head.textContent});
    press.onclick = () => {
      const steps = [null, "descending", "ascending"], next = steps[(steps.indexOf(head.ariaSort) + 1) % 3];
      heads.forEach(other => { other.ariaSort = null; });
      head.ariaSort = next;
      order = next ? sorted(rows, column, next === "ascending" ? 1 : -1) : rows;
      show();
    };
    head.append(press);
  });
  if (rows.length > FEW) {
    const read = () => { text.value = state.get(key) || ""; show(); };
    text.oninput = () => { remember(key, text.value); show(); };
    every.onclick = () => { open = true; show(); };
    box.before(make("div", {className: "tools"}, text, count));
    tools.append(every);
    readers.push(read);
  }
  for (const name in FORMATS) {
    const press = make("button", {type: "button", textContent: name});
    press.onclick = () => {
      const lines = [table.tHead.rows[0], ...order.filter(row => !row.hidden)], below = tools.nextElementSibling;
      const cells = lines.map(row => [...row.cells]), note = below && below.matches("p.muted") ? words(below) : "";
      copied(FORMATS[name]({caption: table.caption ? words(table.caption) : "", note, rows: cells.map(row => row.map(words)), bold: cells.map(row => row.map(cell => cell.className === "lead"))}), status);
    };
    tools.append(press);
  }
  tools.append(status);
  box.after(tools);
}
all("table.metrics").forEach(furnish);
