"use strict";
(() => {
  const root = document.documentElement, button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const storage = {
    get theme() { try { return localStorage.getItem("gemmbench-theme"); } catch { return null; } },
    set theme(name) { try { localStorage.setItem("gemmbench-theme", name); } catch { /* forbidden for this file */ } },
  };
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const label = () => { if (button) button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  root.classList.add("js");
  if (["light", "dark"].includes(storage.theme)) root.dataset.theme = storage.theme;
  label();
  if (!button) return;
  button.hidden = false;
  system.addEventListener("change", label);
  button.addEventListener("click", () => {
    storage.theme = root.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
})();
