/** Where progress is shown: a terminal, or anything that takes text. */
export interface ProgressOutput {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface ProgressBar {
  /** `done` from 0 to 1. */
  show(done: number, note?: string): void;
  /** Leaves the bar as it is and goes on in the next line. */
  end(): void;
}

const WIDTH = 30;
/** Without a terminal, one line each time another such part is done. */
const STEP = 0.25;

/** A bar that is redrawn in place; where there is no terminal, a plain line per quarter. */
export function progressBar(output: ProgressOutput, label: string): ProgressBar {
  return output.isTTY === true ? drawnBar(output, label) : plainLines(output, label);
}

function drawnBar(output: ProgressOutput, label: string): ProgressBar {
  let drawn = '';
  return {
    show(done, note = '') {
      const filled = Math.round(bounded(done) * WIDTH);
      const bar = '█'.repeat(filled) + '░'.repeat(WIDTH - filled);
      const line = `${label} ${bar} ${percent(done)} ${note}`.trimEnd().slice(0, (output.columns ?? 80) - 1);
      if (line === drawn) return;
      drawn = line;
      output.write(`\r\x1b[K${line}`);
    },
    end() {
      if (drawn !== '') output.write('\n');
    },
  };
}

function plainLines(output: ProgressOutput, label: string): ProgressBar {
  let next = 0;
  return {
    show(done, note = '') {
      if (bounded(done) < next) return;
      next = Math.min(1, Math.floor(bounded(done) / STEP) * STEP + STEP);
      if (bounded(done) === 1) next = Number.POSITIVE_INFINITY;
      output.write(`${`${label} ${percent(done)} ${note}`.trimEnd()}\n`);
    },
    end: () => undefined,
  };
}

function bounded(done: number): number {
  return Math.min(1, Math.max(0, done));
}

/** 100 % is said only when nothing is left. */
function percent(done: number): string {
  return `${Math.floor(bounded(done) * 100)
    .toString()
    .padStart(3)} %`;
}
