/** The compiled parser itself: the package's own entry keeps one instance of it for ever, broken or not. */
declare module 'libpg-query/wasm/libpg-query.js' {
  export interface PgQueryModule {
    _malloc(bytes: number): number;
    _free(pointer: number): void;
    lengthBytesUTF8(text: string): number;
    stringToUTF8(text: string, pointer: number, bytes: number): void;
    UTF8ToString(pointer: number): string;
    getValue(pointer: number, type: 'i32'): number;
    _wasm_parse_query_raw(query: number): number;
    _wasm_free_parse_result(result: number): void;
    _wasm_scan(query: number): number;
    _wasm_free_string(pointer: number): void;
  }

  export default function createModule(): Promise<PgQueryModule>;
}
