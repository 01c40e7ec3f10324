// The address keeps what the reader set, #section?key=value, so that it can be sent with the file.
const readers = []; // called with the address at first, and whenever the reader changes it
let section, state, waiting;
function parsed() {
  const [place, rest] = location.hash.slice(1).split("?");
  section = decodeURIComponent(place);
  if (rest !== undefined || !state) state = new URLSearchParams(rest);
  return rest;
}
function write() {
  try { history.replaceState(null, "", "#" + section + (state.size || String(state) ? "?" + state : "")); } catch { /* in a frame */ }
}
function remember(key, value) {
  if (value) state.set(key, value); else state.delete(key);
  write();
}
function reveal() { // opens the folds around a place
  const place = section && document.getElementById(section);
  if (!place) return;
  for (let fold; (fold = place.closest("details:not([open])"));) fold.open = true;
  place.scrollIntoView();
}
function arrive() {
  if (parsed() !== undefined) readers.forEach(read => read());
  reveal();
  if (String(state)) write();
}
addEventListener("hashchange", arrive);
addEventListener("scroll", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const above = all("h2[id]").filter(head => head.getBoundingClientRect().top < innerHeight / 3).pop();
    section = above ? above.id : "";
    write();
  }, 300);
});
parsed();
