const search = document.getElementById('search');
const say = document.getElementById('say');
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
search.hidden = false;
search.addEventListener('input', show);
search.value = location.hash.slice(1);
try { search.value = decodeURIComponent(search.value); } catch { }
show();
addEventListener('beforeprint', () => { for (const box of document.querySelectorAll('details')) box.open = true; });
const copy = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    say.textContent = 'Copied: ' + text;
  } catch {
    say.textContent = text;
    getSelection().selectAllChildren(say);
  }
};
const wordsOf = (mark) => mark.querySelector('title').textContent;
for (const button of document.querySelectorAll('button[data-copy]')) button.hidden = false;
addEventListener('click', (event) => {
  const from = event.target.closest('[data-copy]');
  const mark = event.target.closest('.m, .heat rect, .chart rect');
  if (from) copy(from.dataset.copy);
  else say.textContent = mark ? wordsOf(mark) : '';
});
for (const lane of document.querySelectorAll('.lane[role]')) {
  lane.tabIndex = 0;
  const marks = [...lane.querySelectorAll('.m')];
  let at = marks.length;
  lane.addEventListener('blur', () => { marks[at]?.classList.remove('on'); say.textContent = ''; });
  lane.addEventListener('keydown', (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      marks[at]?.classList.remove('on');
      at = Math.max(0, Math.min(marks.length - 1, at + step));
      marks[at]?.classList.add('on');
      if (marks[at]) say.textContent = wordsOf(marks[at]);
    } else if (event.key === 'Enter' && marks[at]?.dataset.copy) copy(marks[at].dataset.copy);
  });
}
