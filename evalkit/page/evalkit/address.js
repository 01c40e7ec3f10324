// The address keeps what the reader sets, as #section?key=value: sent with the file, it opens the same view.
const readers = []; // called when there is a new address
let section = "", state = new URLSearchParams();
const write = () => {
  try { history.replaceState(0, "", `#${section}?${state}`); } catch { /* a frame has no address */ }
};
function remember(key, value, near) {
  if (value) state.set(key, value); else state.delete(key);
  all("h2[id]").forEach(head => { if (head.compareDocumentPosition(near) & 4) section = head.id; });
  write();
}
function arrive() {
  const [place, rest] = location.hash.slice(1).split("?"), target = document.getElementById(section = decodeURIComponent(place));
  if (rest != null) state = new URLSearchParams(rest);
  else if (String(state)) write();
  readers.forEach(read => read());
  if (!target) return;
  for (let fold; (fold = target.closest("details:not([open])"));) fold.open = true;
  target.scrollIntoView();
}
onhashchange = arrive;
addEventListener("DOMContentLoaded", () => { onresize(); arrive(); });
