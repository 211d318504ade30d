import type { ParseResult, ScanToken } from 'libpg-query';
import createModule, { type PgQueryModule } from 'libpg-query/wasm/libpg-query.js';

/** PostgreSQL's own parser refused the text. `cursor` is 1-based and in characters; 0 where the parser gave none. */
export class PgQueryError extends Error {
  readonly cursor: number;

  constructor(message: string, cursor: number) {
    super(message);
    this.name = 'PgQueryError';
    this.cursor = cursor;
  }
}

export interface ParsedText {
  readonly tree: ParseResult;
  /** Comments included; offsets are UTF-8 bytes. */
  readonly tokens: readonly ScanToken[];
}

let instance: Promise<PgQueryModule> | null = null;

/**
 * Parses a text. Throws {@link PgQueryError}; anything else that it throws is a text that exhausted the parser, most likely by
 * its nesting.
 */
export async function parseText(sql: string): Promise<ParsedText> {
  instance ??= createModule();
  const module = await instance;
  try {
    return { tree: parseTree(module, sql), tokens: scan(module, sql) };
  } catch (error) {
    // An overflow leaves the instance's own stack where it was, and after some of them nothing works any more.
    if (!(error instanceof PgQueryError)) instance = null;
    throw error;
  }
}

/** The layout is libpg_query's `PgQueryParseResult { char *parse_tree; char *stderr_buffer; PgQueryError *error; }`. */
function parseTree(module: PgQueryModule, sql: string): ParseResult {
  return withText(module, sql, (text) => {
    const result = module._wasm_parse_query_raw(text);
    try {
      const error = module.getValue(result + 8, 'i32');
      if (error !== 0) throw readError(module, error);
      return JSON.parse(module.UTF8ToString(module.getValue(result, 'i32')));
    } finally {
      module._wasm_free_parse_result(result);
    }
  });
}

/** `PgQueryError { char *message; char *funcname; char *filename; int lineno; int cursorpos; … }`. */
function readError(module: PgQueryModule, error: number): PgQueryError {
  const message = module.UTF8ToString(module.getValue(error, 'i32'));
  return new PgQueryError(message, module.getValue(error + 16, 'i32'));
}

function scan(module: PgQueryModule, sql: string): readonly ScanToken[] {
  return withText(module, sql, (text) => {
    const result = module._wasm_scan(text);
    try {
      return JSON.parse(escapeControls(module.UTF8ToString(result))).tokens;
    } finally {
      module._wasm_free_string(result);
    }
  });
}

/** The scanner leaves most control characters of a token as they are, and JSON has no place for them. They stand nowhere else. */
function escapeControls(json: string): string {
  return json.replace(/\p{Cc}/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function withText<T>(module: PgQueryModule, sql: string, use: (pointer: number) => T): T {
  const bytes = module.lengthBytesUTF8(sql) + 1;
  const pointer = module._malloc(bytes);
  try {
    module.stringToUTF8(sql, pointer, bytes);
    return use(pointer);
  } finally {
    module._free(pointer);
  }
}
