// Biome formats and lints. ESLint does the two things that Biome cannot: follow a promise through the types of other
// packages, and tell a pure use of a global (`Date.UTC(…)`) from one that reads the outside world (`Date.now()`).
import { parser, plugin } from 'typescript-eslint';

/** Rooms whose code must give the same answer for the same arguments. */
const PURE_ROOMS = ['window', 'flow', 'sql', 'engine', 'jobs'];

const PURE = 'Time, randomness, the environment and timers are passed in: see docs/architecture.md, rule 13.';

export default [
  { ignores: ['node_modules/', 'dist/', 'cdk.out/', 'coverage/', 'reports/'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.ts'],
    languageOptions: { parser, parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    plugins: { '@typescript-eslint': plugin },
    rules: {
      '@typescript-eslint/no-floating-promises': ['error', { checkThenables: true, ignoreVoid: false }],
      '@typescript-eslint/no-misused-promises': ['error', { checksVoidReturn: { arguments: true, attributes: false } }],
      '@typescript-eslint/await-thenable': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
    },
  },
  {
    files: PURE_ROOMS.map((room) => `lib/${room}/**/*.ts`),
    rules: {
      'no-restricted-globals': [
        'error',
        ...[
          'process',
          'performance',
          'crypto',
          'fetch',
          'setTimeout',
          'setInterval',
          'setImmediate',
          'queueMicrotask',
          'console',
          'globalThis',
          'global',
        ].map((name) => ({ name, message: PURE })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: PURE },
        { object: 'Math', property: 'random', message: PURE },
        { object: 'Temporal', property: 'Now', message: PURE },
      ],
      'no-restricted-syntax': [
        'error',
        { selector: 'NewExpression[callee.name="Date"][arguments.length=0]', message: PURE },
        { selector: 'CallExpression[callee.name="Date"]', message: PURE },
        { selector: 'ImportExpression', message: 'What a pure room imports is said at the top of the file.' },
        { selector: 'VariableDeclarator[init.name=/^(Date|Math|Temporal)$/]', message: PURE },
      ],
    },
  },
];
