(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const find = (id) => document.getElementById(id);

  // Sorting: a heading's button sorts the rows of every problem, or all rows in one list.
  const number = (text) => parseFloat(text.replace(/,/g, ""));
  const compare = (a, b) => {
    const x = number(a), y = number(b);
    if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };
  const isKnown = (text) => text !== "-" && text !== "";

  class Rows {
    constructor(table) {
      this.table = table;
      this.bodies = all("tbody", table);
      this.groups = this.bodies.map((body) => all("tr:not(.group)", body));
      this.headings = all("thead th", table);
      this.column = -1;
      this.order = "";
      this.flat = false;
      this.single = document.createElement("tbody");
      this.headings.forEach((heading, index) =>
        heading.firstElementChild.addEventListener("click", () => this.toggle(index)));
    }

    toggle(index) {
      const next = { "": "ascending", ascending: "descending", descending: "" };
      this.order = next[index === this.column ? this.order : ""];
      this.column = index;
      this.headings.forEach((heading, place) => {
        if (place === index && this.order) heading.setAttribute("aria-sort", this.order);
        else heading.removeAttribute("aria-sort");
      });
      this.arrange();
    }

    sort(rows) {
      if (!this.order) return rows;
      const sign = this.order === "ascending" ? 1 : -1;
      const keyed = rows.map((row) => [row.cells[this.column].textContent, row]);
      keyed.sort(([a], [b]) => {
        if (!isKnown(a) || !isKnown(b)) return isKnown(b) - isKnown(a);
        return sign * compare(a, b);
      });
      return keyed.map(([, row]) => row);
    }

    arrange() {
      if (this.flat) {
        this.single.append(...this.sort(this.groups.flat()));
        this.table.append(this.single);
        this.bodies.forEach((body) => body.remove());
        return;
      }
      this.single.remove();
      this.bodies.forEach((body, index) => {
        body.append(...this.sort(this.groups[index]));
        this.table.append(body);
      });
    }

    setFlat(flat) {
      this.flat = flat;
      this.table.classList.toggle("flat", flat);
      this.arrange();
    }

    text(row, heading) {
      const index = this.headings.findIndex((each) => each.firstElementChild.textContent === heading);
      return index < 0 ? "" : row.cells[index].textContent;
    }

    filter(wanted, words) {
      let shown = 0;
      this.groups.forEach((rows, index) => {
        const kept = rows.filter((row) => {
          const text = row.textContent.toLowerCase();
          row.hidden = !(
            (!wanted.kernel || this.text(row, "kernel") === wanted.kernel) &&
            (!wanted.status || row.dataset.status === wanted.status) &&
            (!wanted.problem || this.text(row, "problem") === wanted.problem) &&
            words.every((word) => text.includes(word)));
          return !row.hidden;
        }).length;
        this.bodies[index].hidden = !kept;
        shown += kept;
      });
      this.table.closest(".scroll").hidden = !shown;
      return shown;
    }

    get count() { return this.groups.flat().length; }
  }

  const toolbar = document.querySelector(".toolbar");
  const every = all("table.rows").map((table) => new Rows(table));
  const tables = every.filter((rows) => rows.table.closest("#rows"));

  const filter = () => {
    const wanted = Object.fromEntries(all("[data-filter]").map((select) => [select.dataset.filter, select.value]));
    const words = find("search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = tables.reduce((sum, rows) => sum + rows.filter(wanted, words), 0);
    const total = tables.reduce((sum, rows) => sum + rows.count, 0);
    find("count").textContent = shown === total ? `${total} rows` : `${shown} of ${total} rows`;
    find("nothing").hidden = shown > 0;
  };

  if (toolbar) {
    toolbar.hidden = false;
    toolbar.addEventListener("submit", (event) => event.preventDefault());
    toolbar.addEventListener("input", filter);
    toolbar.addEventListener("reset", () => setTimeout(filter));
    find("details").addEventListener("change", (event) => {
      tables.forEach((rows) => rows.table.classList.toggle("all", event.target.checked));
      fit();
    });
    find("flat").addEventListener("change", (event) =>
      every.forEach((rows) => rows.setFlat(event.target.checked)));
    filter();
  }

  // Headings stay below the bar. A table that is too wide scrolls sideways, which would take them along.
  const boxes = all(".scroll");
  const hold = () => boxes.filter((box) => box.classList.contains("wide")).forEach((box) => {
    const head = box.querySelector("thead"), bar = document.querySelector(".bar");
    const above = bar.offsetHeight - box.getBoundingClientRect().top;
    const most = box.offsetHeight - 2 * head.offsetHeight;
    head.style.transform = `translateY(${Math.max(0, Math.min(above, most))}px)`;
  });
  const fit = () => {
    const onPhone = matchMedia("(max-width: 40rem)").matches;
    boxes.forEach((box) => {
      const table = box.firstElementChild, isWide = () => table.offsetWidth > box.clientWidth;
      // A table that is too wide has configurations on lines of their own, and hides columns in the order of a terminal.
      table.classList.remove("below");
      all(".spare", table).forEach((cell) => cell.classList.remove("spare"));
      table.classList.toggle("below", onPhone || isWide());
      const headings = all("thead th[data-hide]", table).sort((one, other) => one.dataset.hide - other.dataset.hide);
      for (const heading of headings) {
        if (table.classList.contains("all") || !isWide()) break;
        all("tr:not(.group)", table).forEach((row) => row.cells[heading.cellIndex].classList.add("spare"));
      }
      box.classList.toggle("wide", isWide());
      box.querySelector("thead").style.transform = "";
    });
    hold();
  };
  addEventListener("resize", fit);
  addEventListener("scroll", hold, { passive: true });
  fit();

  // A series stands out while the pointer is on it or on its name, and until the next click if its name was clicked.
  let kept = null;
  const pick = (mark) => {
    const figure = mark?.closest("figure"), name = mark?.dataset.series;
    all(".picking").forEach((each) => each.classList.toggle("picking", each === figure));
    all(".picked").forEach((each) => each.classList.remove("picked"));
    figure?.classList.add("picking");
    if (figure) all("[data-series]", figure).forEach((each) => each.classList.toggle("picked", each.dataset.series === name));
  };
  document.addEventListener("pointerover", (event) => pick(event.target.closest?.("[data-series]") ?? kept));
  document.addEventListener("click", (event) => {
    kept = event.target.closest?.("[data-legend]") ?? null;
    pick(kept);
  });

  // Charts of one problem; the others are shown on request.
  all("select.problems").forEach((select) => {
    select.hidden = false;
    select.addEventListener("change", () => all("figure", select.parentElement).forEach((figure, index) => {
      figure.hidden = index !== Number(select.value);
    }));
  });

  // Tooltips for the mark under the pointer, or for the one that the arrow keys reach in a chart.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  tip.hidden = true;
  document.body.append(tip);
  all("svg > title, [data-tip] > title").forEach((title) => title.remove()); // a second tooltip otherwise
  let current = null;
  const hideTip = () => {
    tip.hidden = true;
    if (current) pick(kept);
    current?.classList.remove("current");
    current = null;
  };
  const showTip = (mark, x, y) => {
    if (mark !== current) {
      hideTip();
      current = mark;
      mark.classList.add("current");
      pick(mark.closest("[data-series]") ?? kept);
      tip.textContent = mark.dataset.tip;
      tip.hidden = false;
    }
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - box.width - 4))}px`;
    tip.style.top = `${y + 18 + box.height > innerHeight ? y - box.height - 10 : y + 18}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target.closest?.("[data-tip]");
    if (mark) showTip(mark, event.clientX, event.clientY); else hideTip();
  });
  document.addEventListener("scroll", hideTip, { passive: true });
  all(".charts figure").forEach((figure) => {
    const drawn = all("[data-tip]", figure);
    figure.addEventListener("blur", hideTip);
    figure.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hideTip();
      const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      const marks = drawn.filter((mark) => mark.getClientRects().length);
      if (!step || !marks.length) return;
      event.preventDefault();
      const place = marks.indexOf(current);
      const mark = marks[place < 0 ? 0 : (place + step + marks.length) % marks.length];
      const box = mark.getBoundingClientRect();
      showTip(mark, box.x + box.width / 2, box.y + box.height / 2);
    });
  });

  // The status of a failed row leads to the box that explains it, which may be closed.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("td.status a, .failed a");
    const box = link && find(link.hash.slice(1));
    if (box) box.open = true;
  });

  // The command can be copied where the browser allows it.
  if (navigator.clipboard) all("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.previousElementSibling.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  });

  // On paper everything is open.
  addEventListener("beforeprint", () => all("details").forEach((each) => { each.open = true; }));
})();
