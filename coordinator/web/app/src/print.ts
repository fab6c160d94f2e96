/** What is folded on a screen is printed, too. */
export function unfoldToPrint(): void {
  let folded: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll<HTMLDetailsElement>("details:not([open])")];
    for (const one of folded) one.querySelector("summary")?.click();
  });
  addEventListener("afterprint", () => {
    for (const one of folded) one.open = false;
  });
}
