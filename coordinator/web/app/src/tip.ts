// What a mark says, in words: on a pointer, on a touch and on the keyboard's focus alike.
let box: HTMLElement | null = null;

function hide(): void {
  box?.remove();
  box = null;
}

function show(of: Element): void {
  hide();
  box = document.createElement("div");
  box.id = "tip";
  box.setAttribute("aria-hidden", "true");  // The mark's own label says the same.
  for (const line of (of.getAttribute("data-tip") ?? "").split("\n")) {
    box.append(Object.assign(document.createElement("div"), { textContent: line }));
  }
  document.body.append(box);
  const mark = of.getBoundingClientRect();
  const own = box.getBoundingClientRect();
  const below = mark.bottom + 8 + own.height < innerHeight;
  box.style.left = `${Math.max(4, Math.min(mark.left + mark.width / 2 - own.width / 2, document.documentElement.clientWidth - own.width - 4))}px`;
  box.style.top = `${below ? mark.bottom + 8 : Math.max(4, mark.top - own.height - 8)}px`;
}

const marked = (event: Event): Element | null =>
  event.target instanceof Element ? event.target.closest("[data-tip]") : null;

/** Listens for the whole page, once. */
export function listenForTips(): void {
  for (const name of ["pointerover", "focusin"]) {
    document.addEventListener(name, (event) => {
      const of = marked(event);
      if (of) show(of);
      else hide();
    });
  }
  document.addEventListener("focusout", hide);
  // What has the focus keeps its tip: the focus itself may scroll.
  addEventListener("scroll", () => {
    const of = document.activeElement?.closest("[data-tip]");
    if (of && box) show(of);
    else hide();
  }, { passive: true });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const of = marked(event);
    const marks = [...(of?.closest("svg")?.querySelectorAll<SVGElement>("[data-tip][tabindex]") ?? [])];
    if (!step || !of || marks.length < 2) return;
    const next = marks[(marks.indexOf(of as SVGElement) + step + marks.length) % marks.length];
    event.preventDefault();
    of.setAttribute("tabindex", "-1");
    next?.setAttribute("tabindex", "0");
    next?.focus();
  });
}

/** `first`: the one of its drawing that Tab comes to; arrows go on from there. */
export function explain(mark: Element, text: string, first: boolean): void {
  mark.setAttribute("data-tip", text);
  mark.setAttribute("tabindex", first ? "0" : "-1");
  mark.setAttribute("role", "img");
  mark.setAttribute("aria-label", text.replaceAll("\n", "; "));
}
