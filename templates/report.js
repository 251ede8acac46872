"use strict";
for (const button of document.querySelectorAll("button[data-copies]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copies).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      const range = document.createRange();
      range.selectNodeContents(document.getElementById(button.dataset.copies));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      button.textContent = "Selected: copy it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
}
for (const input of document.querySelectorAll("input[data-rows]")) {
  const rows = document.querySelectorAll(input.dataset.rows);
  const told = document.getElementById(input.id + "-told");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    told.textContent = words.length ? shown + " of " + rows.length + " shown" : "";
  };
  input.hidden = false;
  try {
    input.value = sessionStorage.getItem(input.id) || "";
  } catch { /* a page from a file may have no storage */ }
  input.addEventListener("input", () => {
    try {
      sessionStorage.setItem(input.id, input.value);
    } catch { /* then it is not kept */ }
    show();
  });
  show();
}
for (const live of document.querySelectorAll("[data-live]")) {
  setTimeout(() => location.reload(), 1000 * live.dataset.live);
}
for (const input of document.querySelectorAll("input[data-filters]")) {
  const log = document.getElementById(input.dataset.filters);
  const told = document.getElementById(input.id + "-told");
  const lines = [...log.childNodes].flatMap((node) =>
    node.textContent.split(/(?<=\n)/).map((text) => [node.className || "", text]));
  input.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    const shown = document.createDocumentFragment();
    let count = 0;
    for (const [style, text] of lines) {
      if (!text.toLowerCase().includes(wanted)) continue;
      count += 1;
      shown.append(style ? Object.assign(document.createElement("span"), { className: style, textContent: text }) : text);
    }
    log.replaceChildren(shown);
    told.textContent = wanted ? `${count} of ${lines.length} lines` : "";
  });
}
