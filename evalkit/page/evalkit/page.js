const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const make = (tag, properties, ...inside) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
};
const press = (textContent, onclick, more) => make("button", {type: "button", textContent, onclick, ...more});
const fixed = (value, places) => isNaN(value) ? "–" :
  value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places}).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

const root = document.documentElement.classList, code = all("details.code");
const contents = document.querySelector(".contents"), button = document.getElementById("show-code");
root.add("hide-code");
if (contents && matchMedia("(max-width: 56rem)").matches) contents.open = false;
button.hidden = !code.length;
button.onclick = () => {
  const hidden = root.toggle("hide-code");
  button.textContent = hidden ? "Show code" : "Hide code";
  button.ariaPressed = !hidden;
  code.forEach(each => { each.open = !hidden; });
};
onresize = () => all(".scroll").forEach(box => { // the keyboard stops at boxes that scroll
  const name = box.querySelector("caption, [role=img], tr"), on = box.scrollWidth > box.clientWidth;
  box.tabIndex = on - 1;
  box.role = on ? "region" : null;
  box.ariaLabel = on ? name.ariaLabel || name.textContent : null;
});
