(() => {
  const find = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const pad = find("pad"), pen = pad.getContext("2d"), seen = find("seen").getContext("2d");
  const images = JSON.parse(find("images").textContent);
  const KEPT = 15;
  const taken = {};
  let strokes = [], image = null, stroke = null, busy = false, waiting = false;

  // The canvas shows strokes in its own pixels, or a stored image.
  const color = () => getComputedStyle(pad).color;
  const paintImage = (context, pixels, side) => {
    const size = context.canvas.width / side;
    context.clearRect(0, 0, context.canvas.width, context.canvas.height);
    context.fillStyle = color();
    pixels.forEach((row, y) => row.forEach((value, x) => {
      context.globalAlpha = value / 16;
      context.fillRect(x * size, y * size, size, size);
    }));
    context.globalAlpha = 1;
  };
  const paint = () => {
    find("hint").hidden = strokes.length > 0 || image !== null;
    if (image) return paintImage(pen, image, 8);
    pen.clearRect(0, 0, pad.width, pad.height);
    pen.strokeStyle = color();
    pen.lineWidth = pad.width / 12;
    pen.lineCap = pen.lineJoin = "round";
    for (const points of strokes) {
      pen.beginPath();
      points.forEach(([x, y]) => pen.lineTo(x, y));
      if (points.length === 1) pen.lineTo(points[0][0], points[0][1] + 0.1);
      pen.stroke();
    }
  };
  const place = (event) => {
    const box = pad.getBoundingClientRect(), scale = pad.width / box.width;
    return [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
  };
  pad.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault();
    pad.setPointerCapture(event.pointerId);
    if (image) [image, strokes] = [null, []];
    strokes.push(stroke = [place(event)]);
    change();
  });
  pad.addEventListener("pointermove", (event) => {
    if (!stroke) return;
    const parts = event.getCoalescedEvents?.() ?? [];
    (parts.length ? parts : [event]).forEach((part) => stroke.push(place(part)));
    change();
  });
  const lift = () => { stroke = null; };
  pad.addEventListener("pointerup", lift);
  pad.addEventListener("pointercancel", lift);

  const clear = () => { [strokes, image] = [[], null]; change(); };
  const undo = () => { if (image) image = null; else strokes.pop(); change(); };
  const take = (digit) => {
    const stored = images[digit];
    if (!stored) return;
    strokes = [];
    image = stored[taken[digit] = ((taken[digit] ?? -1) + 1) % stored.length];
    change();
  };
  find("clear").addEventListener("click", clear);
  find("undo").addEventListener("click", undo);
  all("[data-digit]").forEach((button) => button.addEventListener("click", () => take(button.dataset.digit)));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" || event.key === "Delete") clear();
    else if (event.key === "Backspace") undo();
    else if (/^[0-9]$/.test(event.key)) take(event.key);
  });

  // Requests: one drawing at a time, always the latest.
  const change = () => { paint(); ask(); };
  const ask = async () => {
    if (busy) { waiting = true; return; }
    waiting = false;
    if (!image && !strokes.length) return showNothing();
    busy = true;
    try {
      const body = JSON.stringify(image ? { image } : { strokes });
      const response = await fetch("classify", { method: "POST", body });
      if (!response.ok) throw new Error(await response.text());
      const reply = await response.json();
      if (strokes.length || image) show(reply);
    } catch (fault) {
      const gone = fault instanceof TypeError;
      showState(gone ? "The server has ended; start python -m examples.digits again." : fault.message, true);
    }
    busy = false;
    if (waiting) ask();
  };

  // Showing a reply.
  const showState = (text, bad = false) => {
    find("state").textContent = text;
    find("state").classList.toggle("bad", bad);
  };
  const percent = (value) => `${(100 * value).toFixed(value > 0.0995 ? 0 : 1)} %`;
  const showBars = (digit, probabilities) => all("[data-bar]").forEach((line, index) => {
    const value = probabilities[index] ?? 0;
    line.querySelector("i i").style.width = `${100 * value}%`;
    line.querySelector("output").textContent = probabilities.length ? percent(value) : "";
    line.classList.toggle("best", index === digit);
  });
  const showNothing = () => {
    find("guess").textContent = "?";
    find("guess").classList.add("unsure");
    seen.clearRect(0, 0, 8, 8);
    showBars(null, []);
    showState("");
  };
  const times = new Map(all("[data-row]").map((line) => [line.dataset.row, []]));
  const median = (values) => {
    const sorted = [...values].sort((a, b) => a - b), middle = sorted.length >> 1;
    return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  };
  const round = (value) => value >= 9.95 ? `${Math.round(value)}` : value.toPrecision(2);
  const format = (seconds) => {
    const [value, unit] = seconds < 1e-3 ? [1e6 * seconds, "us"] : [1e3 * seconds, "ms"];
    return `${value >= 99.95 ? Math.round(value) : value.toPrecision(3)} ${unit}`;
  };
  const compare = (speed) => speed < 1 ? `${round(1 / speed)}x slower` : `${round(speed)}x faster`;
  const showRows = (rows) => {
    rows.forEach((row) => {
      const kept = times.get(row.name);
      if (row.seconds !== null) kept.push(row.seconds);
      if (kept.length > KEPT) kept.shift();
    });
    const medians = new Map(rows.filter((row) => times.get(row.name).length && !row.fault)
      .map((row) => [row.name, median(times.get(row.name))]));
    const slowest = Math.max(...medians.values()), fastest = Math.min(...medians.values());
    const base = medians.get(document.querySelector("tr.baseline")?.dataset.row);
    rows.forEach((row) => {
      const line = document.querySelector(`[data-row="${CSS.escape(row.name)}"]`);
      const [time, speed, reads] = [...line.cells].slice(1), value = medians.get(row.name);
      const [bar, text] = time.firstElementChild.children;
      line.classList.toggle("fastest", value === fastest);
      if (value === undefined) {
        text.textContent = row.fault;
        time.classList.add("fault");
        return;
      }
      bar.style.width = `${3.2 * value / slowest}rem`;
      text.textContent = format(value);
      speed.textContent = base && value !== base ? compare(base / value) : "";
      reads.textContent = row.digit;
    });
  };
  const show = (reply) => {
    const sure = reply.digit !== null && reply.probabilities[reply.digit] >= 0.5;
    find("guess").textContent = reply.digit ?? "?";
    find("guess").classList.toggle("unsure", !sure);
    paintImage(seen, reply.image, 8);
    showBars(reply.digit, reply.probabilities);
    showRows(reply.rows);
    const bad = reply.rows.filter((row) => row.fault);
    const count = reply.rows.length;
    if (bad.length) showState(`${bad.length} of ${count} rows failed: ${bad.map((row) => row.name).join(", ")}.`, true);
    else showState(count === 1 ? "The result is right." : `All ${count} results are right.`);
  };

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  find("theme")?.addEventListener("click", () => { paint(); if (image || strokes.length) ask(); });
  showNothing();
})();
