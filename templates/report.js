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
for (const input of document.querySelectorAll("input[data-filters]")) {
  const log = document.getElementById(input.dataset.filters);
  const lines = log.textContent.split("\n");
  input.hidden = false;
  input.addEventListener("input", () => {
    const wanted = input.value.toLowerCase();
    log.textContent = lines.filter((line) => line.toLowerCase().includes(wanted)).join("\n");
  });
}
