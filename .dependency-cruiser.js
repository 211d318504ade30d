// Which room may import which (docs/architecture.md, section 4). Each room lists all that it may import; whatever is not
// listed is refused, so a new room or package has to be thought about once, here.

const PORTS = ['lib/store/flow-store.ts', 'lib/frontend/frontend.ts', 'lib/schedule/schedule.ts'];

/** `rooms`: folders whose modules may be imported. `ports`: the port files, for their types only. `node`: built-ins. */
const ROOMS = {
  window: { rooms: [], packages: ['temporal-polyfill'] },
  flow: { rooms: ['window'], packages: ['zod'] },
  sql: { rooms: ['window', 'flow'], ports: true, packages: ['libpg-query'] },
  engine: { rooms: ['window', 'flow'], ports: true },
  jobs: { rooms: ['window', 'flow', 'sql', 'engine'], ports: true },
  store: { rooms: ['window', 'flow'], ports: true, packages: ['@aws-sdk/'], node: true },
  frontend: { rooms: ['window', 'flow'], ports: true, packages: ['pg'], node: true },
  schedule: { rooms: ['window', 'flow'], ports: true, packages: ['@aws-sdk/'], node: true },
  telemetry: { rooms: ['window', 'flow', 'engine'], packages: ['pino', '@middy/'], node: true },
  api: { rooms: ['window', 'flow', 'sql', 'engine', 'jobs', 'telemetry'], ports: true, packages: ['zod'], node: true },
};

/** Types of other packages' interfaces are free: they leave nothing behind at run time. */
const TYPE_PACKAGES = ['@types/'];

const anyOf = (patterns) => (patterns.length === 0 ? '(?!)' : `(${patterns.join('|')})`);
// Not only at the start: node_modules may be a link to another folder.
const PACKAGE = '(^|/)node_modules/';

const literal = (path) => path.replaceAll('.', '\\.');

const roomRules = Object.entries(ROOMS).flatMap(([room, { rooms, ports = false, packages = [], node = false }]) => {
  const from = { path: `^lib/${room}/` };
  const allowed = [
    '^lib/errors\\.ts$',
    `^lib/${room}/`,
    ...rooms.map((name) => `^lib/${name}/`),
    ...(ports ? PORTS.map((path) => `^${literal(path)}$`) : []),
  ];
  const allowedPackages = [...packages, ...TYPE_PACKAGES].map(
    (name) => `${PACKAGE}(@types/)?${name}${name.endsWith('/') ? '' : '/'}`,
  );
  return [
    {
      name: `${room}-imports-only-its-rooms`,
      comment: `lib/${room} may import ${['errors', ...rooms].join(', ')}${ports ? ', and the ports' : ''}.`,
      severity: 'error',
      from,
      to: { path: '^(lib|functions|cdk|test)/', pathNot: anyOf(allowed) },
    },
    {
      name: `${room}-imports-only-its-packages`,
      comment: `lib/${room} may import ${packages.length === 0 ? 'no package' : packages.join(', ')}.`,
      severity: 'error',
      from,
      to: { path: PACKAGE, pathNot: anyOf(allowedPackages) },
    },
    ...(node
      ? []
      : [
          {
            name: `${room}-does-no-io`,
            comment: `lib/${room} is pure: it imports nothing of Node.`,
            severity: 'error',
            from,
            to: { dependencyTypes: ['core'] },
          },
        ]),
  ];
});

const portPaths = anyOf(PORTS.map((path) => `^${literal(path)}$`));

export default {
  forbidden: [
    ...roomRules,
    {
      name: 'every-room-is-listed',
      comment: 'A folder of lib that has no entry in ROOMS would escape the rules.',
      severity: 'error',
      from: {
        path: '^lib/',
        pathNot: anyOf(['^lib/errors\\.ts$', '^lib/local/', ...Object.keys(ROOMS).map((room) => `^lib/${room}/`)]),
      },
      to: {},
    },
    {
      name: 'ports-for-their-types-only',
      comment: 'Who is not an edge knows the shape of a port, never a value that an adapter could bring along.',
      severity: 'error',
      from: { path: `^lib/${anyOf(Object.keys(ROOMS))}/` },
      to: { path: portPaths, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'ports-know-no-adapter',
      comment: 'A port may use the types of another port; nothing else of an adapter room, and no package.',
      severity: 'error',
      from: { path: portPaths },
      to: { path: `^lib/(store|frontend|schedule)/|${PACKAGE}`, pathNot: portPaths },
    },
    {
      name: 'telemetry-knows-the-engine-by-its-types',
      severity: 'error',
      from: { path: '^lib/telemetry/' },
      to: { path: '^lib/engine/', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'adapters-know-no-other-adapter',
      severity: 'error',
      from: { path: '^lib/(store|frontend|schedule)/([^/]+)/' },
      to: { path: '^lib/(store|frontend|schedule)/[^/]+/', pathNot: '^lib/$1/$2/' },
    },
    {
      name: 'nothing-imports-a-handler',
      comment: 'Handlers are entry points. Only what deploys or stands in for Lambda may name them.',
      severity: 'error',
      from: { pathNot: '^(functions|lib/local|cdk|test)/' },
      to: { path: '^functions/' },
    },
    {
      name: 'nothing-imports-the-local-default',
      severity: 'error',
      from: { pathNot: '^(lib/local|test)/' },
      to: { path: '^lib/local/' },
    },
    {
      name: 'nothing-imports-the-deployment',
      severity: 'error',
      from: { pathNot: '^(cdk|test)/' },
      to: { path: '^cdk/' },
    },
    {
      name: 'nothing-imports-a-test',
      severity: 'error',
      from: { path: '^(lib|functions|cdk)/' },
      to: { path: '^test/' },
    },
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolvable-import',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-development-package-in-the-product',
      severity: 'error',
      from: { path: '^(lib|functions)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: PACKAGE },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default', 'types'] },
  },
};
