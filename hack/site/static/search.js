// Searches the pages in the browser. The index is loaded when the field is used first. On a narrow screen, the contents of a page are
// closed at first.
(() => {
  "use strict";
  const root = new URL(".", document.currentScript.src);
  const form = document.querySelector("form[role=search]");
  const field = form.querySelector("input");
  const list = form.querySelector("ol");
  const status = form.querySelector("output");
  let loading;

  const index = () => loading ||= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL("search-index.js", root);
    script.onload = () => resolve(window.searchIndex.map((entry) => ({
      entry, title: entry.title.toLowerCase(), heading: entry.heading.toLowerCase(), text: entry.text.toLowerCase(),
    })));
    script.onerror = reject;
    document.head.append(script);
  });

  // Every word must occur. First is a section whose heading is the query, then a page whose title has all words; whole words count more,
  // and so do those that occur often.
  const score = ({ entry, title, heading, text }, words) => {
    let sum = 0;
    for (const word of words) {
      const found = (title.includes(word) ? 8 : 0) + (heading.includes(word) ? 10 : 0) + Math.min(5, text.split(word).length - 1);
      if (!found) return 0;
      sum += found + (title.split(/[^\w-]+/).includes(word) ? 6 : 0);
    }
    if (heading === words.join(" ")) sum += 40;
    if (!heading && words.every((word) => title.includes(word))) sum += 25;
    return /^(docs\/contribute|changelog|contributing)/.test(entry.path) ? sum / 4 : sum; // for developers
  };

  const marked = (text, words) => {
    const lower = text.toLowerCase();
    const first = Math.min(...words.map((w) => lower.indexOf(w)).filter((i) => i >= 0));
    const start = Number.isFinite(first) ? Math.max(0, first - 50) : 0;
    const excerpt = (start ? "…" : "") + text.slice(start, start + 150) + (start + 150 < text.length ? "…" : "");
    const pattern = new RegExp(words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "gi");
    const nodes = [];
    let end = 0;
    for (const match of excerpt.matchAll(pattern)) {
      const mark = document.createElement("mark");
      mark.textContent = match[0];
      nodes.push(excerpt.slice(end, match.index), mark);
      end = match.index + match[0].length;
    }
    return [...nodes, excerpt.slice(end)];
  };

  const item = ({ path, title, anchor, heading, text }, words) => {
    const link = document.createElement("a");
    link.href = new URL(path + (anchor ? "#" + anchor : ""), root);
    const name = document.createElement("b");
    name.textContent = heading ? title + " › " + heading : title;
    const excerpt = document.createElement("span");
    excerpt.append(...marked(text, words));
    link.append(name, excerpt);
    const li = document.createElement("li");
    li.append(link);
    return li;
  };

  const search = async () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) {
      list.replaceChildren();
      status.textContent = "";
      return;
    }
    const entries = await index();
    const found = entries.map((lower) => ({ entry: lower.entry, points: score(lower, words) }))
      .filter((hit) => hit.points > 0).sort((a, b) => b.points - a.points);
    list.replaceChildren(...found.slice(0, 12).map((hit) => item(hit.entry, words)));
    status.textContent = found.length ? found.length + (found.length === 1 ? " section" : " sections") : "Nothing found";
  };

  const move = (step) => {
    const stops = [field, ...list.querySelectorAll("a")];
    const at = stops.indexOf(document.activeElement);
    stops[Math.max(0, Math.min(stops.length - 1, at + step))].focus();
  };

  const contents = document.querySelector(".contents details");
  if (contents && matchMedia("(max-width: 75rem)").matches) contents.open = false;

  form.hidden = false;
  field.addEventListener("input", search);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    list.querySelector("a")?.click();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape" && form.contains(event.target)) {
      field.value = "";
      search();
      field.blur();
    } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && form.contains(event.target)) {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    }
  });
  document.addEventListener("click", (event) => {
    if (!form.contains(event.target)) list.replaceChildren(), status.textContent = "";
  });

  const query = new URLSearchParams(location.search).get("q");
  if (query) {
    field.value = query;
    search();
  }
})();
