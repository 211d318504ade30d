import { copyFileSync, mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync, type Metafile } from 'esbuild';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

export type FunctionName = 'api' | 'tick' | 'ingest';

/** File in the bundle's folder whose `handler` is the function. */
const ENTRY_FILE = 'index.mjs';
export const LAMBDA_HANDLER = 'index.handler';

/** PostgreSQL's parser reads its WebAssembly from the folder of the script that it is in. */
const PARSER = 'node_modules/libpg-query/';
const PARSER_WASM = 'libpg-query/wasm/libpg-query.wasm';

/**
 * What CommonJS packages within an ES module expect to find. The names of the imports are odd so that no bundled module has
 * them.
 */
const COMMONJS_NAMES = [
  "import { createRequire as sluiceCreateRequire } from 'node:module';",
  "import { fileURLToPath as sluiceFileUrlToPath } from 'node:url';",
  "import { dirname as sluiceDirname } from 'node:path';",
  'const require = sluiceCreateRequire(import.meta.url);',
  'const __filename = sluiceFileUrlToPath(import.meta.url);',
  'const __dirname = sluiceDirname(__filename);',
].join('\n');

function bundleOptions(name: FunctionName, outdir: string) {
  return {
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, 'functions', `${name}.ts`)],
    outfile: join(outdir, ENTRY_FILE),
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    mainFields: ['module', 'main'],
    minify: true,
    // The SDK tells exceptions apart by their class names, and logs name ours.
    keepNames: true,
    sourcemap: true,
    sourcesContent: false,
    metafile: true,
    logLevel: 'error',
    banner: { js: COMMONJS_NAMES },
    // An addon that `pg` uses where it is installed; it is not.
    external: ['pg-native'],
  } satisfies BuildOptions;
}

/** Writes the code of one function, ready to be uploaded, into a folder. The SDK is part of it: its version is ours. */
export function bundleFunction(name: FunctionName, outdir: string): Metafile {
  mkdirSync(outdir, { recursive: true });
  const { metafile } = buildSync(bundleOptions(name, outdir));
  if (Object.keys(metafile.inputs).some((input) => input.includes(PARSER))) {
    const wasm = createRequire(import.meta.url).resolve(PARSER_WASM);
    copyFileSync(wasm, join(outdir, basename(PARSER_WASM)));
  }
  return metafile;
}
