export interface TextTable {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | null)[])[];
}

/** A table for a terminal. Columns of numbers are set flush right; null is left blank. */
export function tableText(table: TextTable): string {
  const cells = table.rows.map((row) => row.map((cell) => cell ?? ''));
  const widths = table.columns.map((name, i) => Math.max(name.length, ...cells.map((row) => row[i]?.length ?? 0)));
  const numeric = table.columns.map((_, i) => cells.every((row) => /^-?[\d.]*$/.test(row[i] ?? '')));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (numeric[i] ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd();
  const rule = widths.map((width) => '─'.repeat(width)).join('  ');
  return [line(table.columns), rule, ...cells.map(line)].join('\n');
}
