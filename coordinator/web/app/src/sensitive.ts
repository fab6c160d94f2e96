// The test examples whose answer changes with the hardware, or the stack.
import { titledTable } from "./figure";
import { el, estimate, pCell, section, table } from "./format";
import { pathOf } from "./paths";
import { answered, SensitiveExamples, Study } from "./study";

const SHOWN = 10;

function rows(of: SensitiveExamples, most: number, one: string): HTMLElement {
  const found = new Set(of.found);
  const tested = of.tested > 0;
  return table([one, "label", of.side_a, of.side_b, "flips", "rate, shrunk", ...(tested ? ["p", "p, adjusted"] : [])],
    of.most.slice(0, most).map((e, i) => [`#${e.example}`, e.label_name, e.said_a, e.said_b, `${e.flips} of ${of.draws}`,
      estimate(e.rate, `${pathOf(of)}.most.${i}.rate`),
      ...(tested ? [pCell(e.p, `${pathOf(of)}.most.${i}.p`), pCell(e.p_fdr, `${pathOf(of)}.most.${i}.p_fdr`, {}, found.has(e.example) ? " *" : "")] : [])]), 4);
}

/** Numbers of all that were found, where the table has some of them only. */
function whole(of: SensitiveExamples): HTMLElement | null {
  if (of.found.length <= of.most.length) return null;
  return el("details", {}, el("summary", {}, `All ${of.found.length} that were found`), el("p", {}, of.found.map((e) => `#${e}`).join(", ")));
}

export function sensitive(study: Study): HTMLElement | null {
  const some = study.sensitive.filter((of) => of.flipped > 0);
  if (some.length === 0) return null;
  const { one } = answered(study);
  return section(`Which ${one}s does the hardware change?`,
    "Each draw of the seeds was trained on both sides. The rate of flips of each is pulled to what is usual among all of them by as much as so few draws leave it open (beta-binomial, empirical Bayes), so that the largest are not too large. They are tested where the mean answer is shown to shift: p is exact, of whether the flips about one class go one way; * marks those that go with the side, of which at most 5 % are expected to be chance.",
    ...some.map((of) => el("div", {}, el("h3", {}, of.label), el("p", {}, of.text),
      titledTable(`The ${one}s that ${of.tested > 0 ? "go with the side most, by p" : "flip most"}: what each side answers most often, in how many draws the two differ, the rate with its central 95 %.${of.most.length > SHOWN ? ` The first ${SHOWN} of ${of.most.length}.` : ""}`,
        rows(of, SHOWN, one), of.most.length > SHOWN ? rows(of, of.most.length, one) : undefined),
      whole(of))));
}
