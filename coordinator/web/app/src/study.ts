// The Study as coordinator/report/study.h defines it. Fractions are in [0, 1]. What could not be
// estimated is null, with a note in words; not-finite numbers are the strings "nan", "inf", "-inf".

export type Num = number | null | "nan" | "inf" | "-inf";

export interface Estimate {
  value: Num;
  low: Num;
  high: Num;
  n: number;
  unit: string;
  method: string;
  detectable: Num;
  detectable_kind: string;
  note: string;
}

export interface Counts {
  total: number;
  done: number;
  diverged: number;
  failed: number;
  cancelled: number;
  missing: number;
  retried: number;
  without_predictions: number;
  without_weights: number;
}

export interface ClassSensitivity {
  label: number;
  name: string;
  examples: number;
  accuracy: Estimate;
  accuracy_sd: Estimate;
  range: Estimate;
  ratio: Estimate;
  churn: Estimate;
}

export interface GroupSensitivity {
  column: string;
  name: string;
  examples: number;
  accuracy: Estimate;
  accuracy_sd: Estimate;
  ratio: Estimate;
  churn: Estimate;
  false_positive_rate: Estimate;
  false_negative_rate: Estimate;
}

export interface AxisSetting {
  path: string;
  value: string;
}

export interface Cohort {
  cell: number;
  label: string;
  axes_label: string;
  axes: AxisSetting[];
  plan: string;
  sources: Record<string, string>;
  hardware: string;
  stack: string;
  block: number;
  counts: Counts;
  under_trained: boolean;
  all_fixed: boolean;
  accuracy: Estimate;
  accuracy_sd: Estimate;
  flip_sd: Estimate;
  flip_share: Estimate;
  top5: Estimate;
  loss: Estimate;
  churn: Estimate;
  churn_to_error: Estimate;
  any_disagreement: Estimate;
  any_of_3: Estimate;
  l2_raw: Estimate;
  l2_normalised: Estimate;
  l2_raw_all: Estimate;
  l2_normalised_all: Estimate;
  cosine: Estimate;
  seconds: Estimate;
  target_epochs: Estimate;
  per_class: ClassSensitivity[];
  per_group: GroupSensitivity[];
}

export interface BlockSummary {
  label: string;
  cells: number[];
  accuracy: Estimate;
  accuracy_sd: Estimate;
  churn: Estimate;
}

export interface ControlCheck {
  cell: number;
  label: string;
  verdict: "identical" | "different" | "unproved";
  members: number;
  units: number;
  text: string;
}

export interface PhysicalCheck {
  cell: number;
  label: string;
  sources: string[];
  noise_seen: boolean;
  runs: number;
  different_results: number;
  text: string;
}

export interface ShiftClaim {
  p: Num;
  p_holm: Num;
  least_p: Num;
  shown: boolean;
  family: string;
  note: string;
}

export interface SettingTest {
  setting: string;
  shift: ShiftClaim;
  text: string;
}

export interface Comparison {
  label: string;
  setting: string;
  axes_label: string;
  plan: string;
  cells_a: number[];
  cells_b: number[];
  hardware_a: string;
  hardware_b: string;
  stack_a: string;
  stack_b: string;
  mixes_stacks: boolean;
  kernels_fixed: boolean;
  pairs: number;
  identical_pairs: number;
  draws: number;
  accuracy_difference: Estimate;
  churn_paired: Estimate;
  churn_unpaired: Estimate;
  churn_excess: Estimate;
  churn_within_a: Estimate;
  churn_within_b: Estimate;
  accuracy_correlation: Estimate;
  logits_correlation_paired: Estimate;
  logits_correlation_unpaired: Estimate;
  shift: ShiftClaim;
  text: string;
}

export interface FigureContrast {
  figure: "churn" | "accuracy" | "accuracy_sd" | "accuracy_above";
  estimate: Estimate;
  p: Num;
  p_holm: Num;
  shown: boolean;
}

export interface Contrast {
  question: "axis" | "plan" | "hardware" | "stack";
  subject: string;
  a: string;
  b: string;
  plan: string;
  over: string;
  settings: number;
  draws: number;
  paired: boolean;
  stacks_differ: boolean;
  under_trained: boolean;
  figures: FigureContrast[];
  text: string;
}

export interface SourceShare {
  kind: "first_order" | "total" | "interaction" | "additive";
  sources: string[];
  share: Estimate;
}

export interface SourceDecomposition {
  figure: "churn" | "accuracy" | "probabilities" | "weights";
  setting: string;
  plans: string[];
  factors: string[];
  members: number;
  blocks: number;
  under_trained: boolean;
  whole: Estimate;
  shares: SourceShare[];
  text: string;
}

export interface Curve {
  cell: number;
  metric: string;
  steps: number[];
  epochs: number[];
  mean: Num[];
  sd: Num[];
  n: number[];
  members: { id: string; values: Num[] }[];
}

/** How trainings part: of a cell (no factor), or of the same draws on both sides of a comparison. */
export interface Trajectory {
  factor: string | null;
  label: string;
  cells: number[];
  steps: number[];
  epochs: number[];
  churn: Estimate[];  // No value where predictions were not kept.
  l2_normalised: Estimate[];  // No value where weights were not kept.
}

export interface DivergentExample {
  example: number;
  label: number;
  label_name: string;
  selected_by: Num;
  disagreement: Estimate;
  accuracy: Estimate;
  said: number[];
  picture: { height: number; width: number; channels: number; pixels: string };
}

/** A class of the data set (no column), or a group of its examples, among those that members disagree on most. */
export interface DivergentGroup {
  column: string;
  name: string;
  examples: number;
  divergent: number;
  ratio: Estimate;
  p: Num;
  p_holm: Num;
}

export interface SensitiveExample {
  example: number;
  label: number;
  label_name: string;
  flips: number;
  rate: Estimate;
  said_a: string;
  said_b: string;
  p: Num;
  p_fdr: Num;
}

/** Which examples a comparison of hardware, or of stacks, answers otherwise. */
export interface SensitiveExamples {
  factor: string;
  label: string;
  side_a: string;
  side_b: string;
  draws: number;
  examples: number;
  flipped: number;
  alpha: Num;
  beta: Num;
  tested: number;
  found: number[];
  most: SensitiveExample[];
  text: string;
}

export interface EnsembleScores {
  size: number;
  accuracy: Estimate;
  log_loss: Estimate;
  brier: Estimate;
  calibration: Estimate;
}

export interface CohortEnsembles {
  cell: number;
  label: string;
  members: number;
  left_out: number;
  under_trained: boolean;
  sizes: EnsembleScores[];
  note: string;
}

export interface Ensembles {
  cohorts: CohortEnsembles[];
  mixing: { label: string; under_trained: boolean; gain: Estimate }[];
}

export interface Plan {
  name: string;
  sources: Record<string, "off" | "fixed" | "free">;
  replicates: number;
  blocks: number;
  /** Of the replicates, those that decided how many there are; 0: as many as were asked for. */
  pilot: number;
}

export interface Study {
  /** What was chosen of it on the page: "plan algo"; absent: all. */
  choice?: string;
  study_version: number;
  title: string;
  sweep: {
    id: string;
    name: string;
    notes: string;
    tags: string[];
    seed: string;
    reference_accuracy: number | null;
    until: { figure: "churn" | "top1"; half_width: number; most: number; settled: boolean } | null;
    plans: Plan[];
    settings: { path: string; value: string; changed: boolean }[];
    axes: { path: string; values: string[] }[][];
    specification_sha256: string;
    submitted_unix_seconds: number;
    ended_unix_seconds: number;
    noisefloor_version: string;
    file: string;
    file_submitted: boolean;
  };
  counts: Counts;
  /** Members are still to come: nothing is tested. */
  interim: boolean;
  evaluation: {
    data_set: string;
    identity: string;
    examples: number;
    classes: number;
    class_names: string[];
    /** Not 0: answers are decisions, so many on each example. Older files do not tell. */
    attributes?: number;
  };
  headlines: string[];
  /** What to do, each with what it rests on. */
  guidelines: string[];
  cohorts: Cohort[];
  blocks: BlockSummary[];
  controls: ControlCheck[];
  physical: PhysicalCheck[];
  hardware_tests: SettingTest[];
  stacks: Comparison[];
  stack_tests: SettingTest[];
  hardware: Comparison[];
  contrasts: Contrast[];
  decompositions: SourceDecomposition[];
  ensembles: Ensembles;
  worst_classes: { text: string };
  worst_groups: { column: string; text: string }[];
  curves: Curve[];
  trajectories: Trajectory[];
  heat_map: {
    members: string[];
    cells: number[];
    values: Num[][];
    left_out: number;
    note: string;
  };
  divergent: {
    members: string[];
    cells: number[];
    selecting: boolean[];
    examples: DivergentExample[];
    subset_disagreement: Estimate;
    subset_accuracy: Estimate;
    by_all: number;
    groups: DivergentGroup[];
    note: string;
    groups_text: string;
  };
  sensitive: SensitiveExamples[];
  environment: {
    hardware: string;
    members: number;
    summaries: string[];
    facts: { key: string; values: string[] }[];
  }[];
  warnings: { severity: string; subject: string; text: string }[];
  members: {
    id: string;
    cell: number;
    replicate: number;
    state: string;
    attempts: number;
    seconds: Num;
    unit: string;
    hashes: { init: string; first_batches: string; weights: string; logits: string };
    final_metrics: Record<string, Num>;
    failure: string;
  }[];
}

/** The number when it is a finite one. */
export function finite(value: Num | undefined): number | undefined {
  return typeof value === "number" ? value : undefined;
}

/** The same in per cent: an estimate without an interval has no bounds. */
export function percent(value: Num | undefined): number | undefined {
  const known = finite(value);
  return known === undefined ? undefined : known * 100;
}

/** Those with an interval: the others have no rule, rather than one of no width. */
export function bounded<D extends { low: number | undefined; high: number | undefined }>(data: D[]): D[] {
  return data.filter((d) => d.low !== undefined && d.high !== undefined);
}

/** What a caption says of intervals, where some are drawn. */
export function ifBounded(data: { low: number | undefined; high: number | undefined }[], words = "; 95 % intervals"): string {
  return bounded(data).length > 0 ? words : "";
}

/** What members answer: where examples have attributes, a decision on each. */
export function answered(study: Study): { one: string; many: string } {
  return (study.evaluation.attributes ?? 0) > 0 ? { one: "decision", many: "decisions" } : { one: "example", many: "test examples" };
}
