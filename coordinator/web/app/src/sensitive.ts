// The test examples whose answer changes with the hardware, or the stack.
import { titledTable } from "./figure";
import { el, estimate, pCell, section, table } from "./format";
import { pathOf } from "./paths";
import { SensitiveExamples, Study } from "./study";

const SHOWN = 10;

function rows(study: Study, of: SensitiveExamples, most: number): HTMLElement {
  const name = (label: number) => (label < 0 ? "undefined" : study.evaluation.class_names[label] ?? String(label));
  const tested = of.tested > 0;
  return table(["example", "label", of.side_a, of.side_b, "flips", "rate, shrunk", ...(tested ? ["p", "p, FDR"] : [])],
    of.most.slice(0, most).map((e, i) => [`#${e.example}`, e.label_name, name(e.said_a), name(e.said_b), `${e.flips} of ${of.draws}`,
      estimate(e.rate, `${pathOf(of)}.most.${i}.rate`),
      ...(tested ? [pCell(e.p, `${pathOf(of)}.most.${i}.p`), pCell(e.p_fdr, `${pathOf(of)}.most.${i}.p_fdr`, {}, of.found > 0 && e.p_fdr !== null && Number(e.p_fdr) <= 0.05 ? " *" : "")] : [])]), 4);
}

export function sensitive(study: Study): HTMLElement | null {
  const some = study.sensitive.filter((of) => of.flipped > 0);
  if (some.length === 0) return null;
  return section("Which examples follow the hardware?",
    "Each draw of the seeds was trained on both sides. The rate of flips of an example is pulled to what is usual among all of them by as much as so few draws leave it open (beta-binomial, empirical Bayes), so that the largest are not too large. p is exact: whether the flips about one class go one way. Examples are tested where the mean answer is shown to shift; * marks those that follow the side, of which 5 % are expected to be there by chance (Benjamini and Hochberg).",
    ...some.map((of) => el("div", {}, el("h3", {}, of.label), el("p", {}, of.text),
      titledTable(`The examples that follow the side most: what each side answers most often, in how many draws the two differ, the rate with its central 95 %.${of.most.length > SHOWN ? ` The first ${SHOWN} of ${of.most.length}.` : ""}`,
        rows(study, of, SHOWN), of.most.length > SHOWN ? rows(study, of, of.most.length) : undefined))));
}
