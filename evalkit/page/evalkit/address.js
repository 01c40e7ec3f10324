// The address keeps what the reader sets, as #section?key=value: sent with the file, it opens the same view.
const state = new URLSearchParams(location.hash.split("?")[1]);
let section;
const write = () => {
  try { history.replaceState(0, "", `#${section}?${state}`); } catch { /* a frame has no address */ }
};
const remember = (key, value, near) => {
  state.set(key, value);
  all("h2[id]").forEach(head => { if (head.compareDocumentPosition(near) & 4) section = head.id; });
  write();
};
const unfold = place => {
  for (let fold; (fold = place?.closest("details:not([open])"));) fold.open = true;
};
const arrive = () => {
  section = decodeURIComponent(location.hash.slice(1).split("?")[0]);
  if (String(state)) write();
  const place = document.getElementById(section);
  unfold(place);
  place?.scrollIntoView();
};
onhashchange = () => location.hash.includes("?") ? location.reload() : arrive();
