const search = document.getElementById('search');
const rows = [...document.querySelectorAll('[data-find]')];
const show = () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const row of rows) row.hidden = !words.every((word) => row.dataset.find.toLowerCase().includes(word));
  for (const box of document.querySelectorAll('details[data-box]')) {
    const inside = [...box.querySelectorAll('[data-find]')];
    box.hidden = inside.length > 0 && inside.every((row) => row.hidden);
    if (words.length > 0) box.open = !box.hidden;
  }
};
search.addEventListener('input', show);
search.value = decodeURIComponent(location.hash.slice(1));
show();
addEventListener('beforeprint', () => { for (const box of document.querySelectorAll('details')) box.open = true; });
addEventListener('mouseover', (event) => {
  const mark = event.target.closest('.line li');
  if (mark && !mark.title) mark.title = mark.lastElementChild.textContent;
});
