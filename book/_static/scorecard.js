// The scorecard: filter, search, sort; what is chosen stands in the address (#part=...&q=...).
// Without this script the whole table is there to read.
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const form = document.getElementById("claims-filter");
  const table = document.getElementById("all-claims");
  if (!form || !table) return;
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const heads = Array.from(table.tHead.rows[0].cells);
  const count = document.getElementById("claims-count");
  const none = document.getElementById("claims-none");
  const names = ["q", "part", "chapter", "verdict", "profile"];
  const texts = new Map(
    rows.map((row) => [row, `${row.textContent} ${row.dataset.words}`.toLowerCase()]),
  );
  let sorted = { key: "", down: false };

  // --- the address --------------------------------------------------------------------------

  const state = () => {
    const found = new URLSearchParams();
    for (const name of names) {
      const value = form.elements[name].value.trim();
      if (value) found.set(name, value);
    }
    if (sorted.key) found.set("sort", (sorted.down ? "-" : "") + sorted.key);
    return found;
  };

  const remember = () => {
    const words = state().toString();
    const here = window.location.href.split("#")[0];
    window.history.replaceState(null, "", words ? `${here}#${words}` : here);
  };

  const restore = () => {
    const hash = window.location.hash.slice(1);
    const found = new URLSearchParams(hash.includes("=") ? hash : "");
    for (const name of names) {
      const field = form.elements[name];
      field.value = found.get(name) || "";
      if (field.value !== (found.get(name) || "")) field.value = ""; // not among the choices
    }
    const sort = found.get("sort") || "";
    sorted = { key: sort.replace(/^-/, ""), down: sort.startsWith("-") };
  };

  // --- what is shown ------------------------------------------------------------------------

  const fits = (row, wanted) => {
    const verdict = wanted.get("profile") ? row.dataset[wanted.get("profile")] : row.dataset.verdict;
    return (
      (!wanted.get("part") || row.dataset.part === wanted.get("part")) &&
      (!wanted.get("chapter") || row.dataset.chapter === wanted.get("chapter")) &&
      (!wanted.get("profile") || verdict !== undefined) &&
      (!wanted.get("verdict") || verdict === wanted.get("verdict")) &&
      (wanted.get("q") || "")
        .toLowerCase()
        .split(/\s+/)
        .every((word) => texts.get(row).includes(word))
    );
  };

  const filter = () => {
    const wanted = state();
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row, wanted);
      shown += row.hidden ? 0 : 1;
    }
    const total = rows.length === 1 ? "1 claim" : `${rows.length} claims`;
    count.textContent = shown === rows.length ? total : `${shown} of ${total}`;
    none.hidden = shown > 0;
  };

  const sort = () => {
    const column = heads.findIndex((head) => head.dataset.key === sorted.key);
    const numeric = column >= 0 && "numeric" in heads[column].dataset;
    const value = (row) => {
      if (column < 0) return Number(row.dataset.order);
      const cell = row.cells[column];
      const given = cell.dataset.sort;
      if (numeric) return given === "" ? null : Number(given);
      return given === undefined || column > 0 ? cell.textContent.trim() : Number(given);
    };
    const compare = (a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null); // unknown ones come last
      const way = typeof x === "number" ? x - y : x.localeCompare(y);
      return (sorted.down ? -way : way) || a.dataset.order - b.dataset.order;
    };
    body.append(...[...rows].sort(compare));
    heads.forEach((head, place) => {
      if (place === column) head.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
  };

  // --- controls -----------------------------------------------------------------------------

  for (const head of heads) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const same = sorted.key === head.dataset.key;
      if (same && sorted.down) sorted = { key: "", down: false }; // the third click: book order
      else sorted = { key: head.dataset.key, down: same };
      sort();
      remember();
    });
    head.replaceChildren(button);
  }

  const change = () => {
    filter();
    remember();
  };
  const clear = () => {
    for (const name of names) form.elements[name].value = "";
    change();
  };
  form.addEventListener("input", change);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    clear();
  });
  none.querySelector("button").addEventListener("click", () => {
    clear();
    form.elements.q.focus();
  });
  const show = () => {
    restore();
    sort();
    filter();
  };
  window.addEventListener("hashchange", show);
  form.hidden = false;
  show();
  const target = document.getElementById(window.location.hash.slice(1));
  if (target) target.scrollIntoView();
});
