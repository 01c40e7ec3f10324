const all = (selector, root = document) => [...root.querySelectorAll(selector)];
function make(tag, properties, ...inside) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...inside);
  return element;
}
const fixed = (value, places) => value.toLocaleString("en", {minimumFractionDigits: places, maximumFractionDigits: places}).replace("-", "−");

const root = document.documentElement.classList, code = all("details.code");
const contents = document.querySelector(".contents"), button = document.getElementById("show-code");
root.add("hide-code");
if (contents && matchMedia("(max-width: 56rem)").matches) contents.open = false;
button.hidden = code.length === 0;
button.onclick = () => {
  const hidden = root.toggle("hide-code");
  button.textContent = hidden ? "Show code" : "Hide code";
  button.setAttribute("aria-pressed", !hidden);
  code.forEach(each => { each.open = !hidden; });
};
function reach() { // the keyboard stops at boxes that scroll
  all(".scroll").forEach(box => {
    const name = box.querySelector("caption, [role=img], tr"), on = box.scrollWidth > box.clientWidth;
    box.tabIndex = on - 1;
    box.role = on ? "region" : null;
    box.ariaLabel = on ? name.ariaLabel || name.textContent : null;
  });
}
