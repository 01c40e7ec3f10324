const all = (what, root = document) => [...root.querySelectorAll(what)];
const make = (tag, more) => Object.assign(document.createElement(tag), more);
const fixed = (value, places, signDisplay = "negative") => isNaN(value) ? "–" :
  value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places, signDisplay}).replace("-", "−");

const root = document.documentElement.classList, code = all("details.code");
const [contents] = all(".contents"), [button] = all("#show-code");
root.add("scripted", "hide-code");
if (contents) contents.open = matchMedia("(width>56rem)").matches;
button.onclick = () => {
  const open = !root.toggle("hide-code");
  button.ariaPressed = open;
  code.forEach(each => { each.open = open; });
};
onresize = () => all(".scroll").forEach(box => { // the keyboard stops at boxes that scroll
  const [name] = all("caption, [role=img], tr", box), on = box.scrollWidth > box.clientWidth;
  box.tabIndex = on - 1;
  box.role = on ? "region" : null;
  box.ariaLabel = on ? name.ariaLabel || name.textContent : null;
});

onscroll = () => { // the section that is read, in the contents
  const at = "#" + all("h2[id]").findLast(head => head.getBoundingClientRect().top < 120)?.id;
  all("nav a").forEach(link => { link.ariaCurrent = link.hash === at ? "location" : null; });
};
// A term, or the name of a metric, says what it means in a box below it: under the pointer, at the keyboard, at a tap.
const card = make("div", {className: "card", id: "_card", role: "tooltip", hidden: true});
const explain = event => {
  const link = event.target.closest?.("a[href*='#term-'], a[href*='#def-']"), [text] = link ? all(link.hash + " + dd") : [];
  card.hidden = !text || event.key === "Escape";
  if (!text) return;
  const {left, bottom} = link.getBoundingClientRect();
  if (event.type === "click") event.preventDefault(); // the reader's place stays
  link.setAttribute("aria-describedby", card.id);
  card.textContent = text.textContent;
  card.style = `top:${bottom + scrollY + 4}px;left:${Math.max(8, Math.min(left, innerWidth - 370)) + scrollX}px`;
};
document.body.append(card);
["pointerover", "focusin", "click", "keydown"].forEach(type => addEventListener(type, explain));
