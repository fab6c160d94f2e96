// What the page reads of the protocol's messages: proto/noisefloor/v1, with its names.

export interface Value {
  boolean?: boolean;
  integer?: string;
  number?: number;
  text?: string;
  list?: { values: string[] };
}

export interface Setting {
  path: string;
  value: Value;
}

export interface SweepSummary {
  id: string;
  name: string;
  submitted_unix_seconds: string;
  cells: number;
  waiting: number;
  leased: number;
  done: number;
  diverged: number;
  failed: number;
  cancelled: number;
  retries: number;
  progress: number;
  specification_sha256: string;
  sweep?: { notes: string; tags: Record<string, string>; noise: { name: string }[] };
  mean_member_seconds: number;
  kind: string;
  of: string;
  owner: string;
  priority: number;
  paused: boolean;
  archived: boolean;
  members_per_hour: number;
  expected_seconds_left: number;
  hardware: string[];
  undecided: boolean;
}

export interface Event {
  number: string;
  unix_micros: string;
  kind: string;
  member: string;
  worker: string;
  caller: string;
  text: string;
}

export interface SweepNews {
  sweep: SweepSummary;
  lines: string[];
  events: Event[];
  storage_problem: string;
}

export interface RecordedValue {
  step: string;
  name: string;
  value: number | string;
}

export interface MemberNews {
  state: string;
  lease: string;
  attempt: number;
  step: string;
  steps: string;
  values: RecordedValue[];
  events: Event[];
}

export interface Artifact {
  kind: string;
  path: string;
  sha256: string;
  size: string;
  collected_unix_seconds: string;
}

export interface Member {
  id: string;
  cell: number;
  replicate: number;
  block: number;
  plan: string;
  hardware: string;
  stack: string;
  axes: Setting[];
  state: string;
  attempt: number;
  worker: string;
  sources: Record<string, { state: string; lane: number; seed: string }>;
  specification: string;
  specification_sha256: string;
  outcome?: {
    cause: string;
    message: string;
    hashes: Record<string, string>;
    metrics: Record<string, number | string>;
    environment: string;
    train_seconds: number;
    artifacts: Artifact[];
  };
  step: string;
  step_count: string;
  subject: string;
  weights_file: string;
}

export interface Worker {
  name: string;
  connected: boolean;
  draining: boolean;
  running: string[];
  seen_unix_seconds: string;
  version: string;
  inventory?: {
    devices: { unit: string; model: string; note: string; hardware_classes: string[] }[];
    offers: { hardware_class: string; stack: string }[];
    slots: object[];
    withheld: { what: string; reason: string }[];
  };
  paused: { unit: string; reason: string }[];
}
