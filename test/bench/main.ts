import { cpus } from 'node:os';
import { benchEngineCpu } from './engine-cpu.ts';
import { benchLateRows } from './late-rows.ts';
import { print } from './ratio.ts';

print(`Node ${process.version}, ${cpus().length} cores`);
print();
await benchEngineCpu();
print();
await benchLateRows();
