import { setImmediate as nextTurn } from 'node:timers/promises';
import { instant } from '../../lib/window/instant.ts';
import { hourlyDefinition } from '../support/definitions.ts';
import { createMemoryFrontend, MemoryDatabase, type Step } from '../support/memory-frontend.ts';
import { type FrontendUnderTest, frontendContract } from './frontend-suite.ts';

/** Requests of several workers take turns, and one that the server makes wait tries again. */
const takingTurns: Step = async (_label, request, ready = () => true) => {
  do await nextTurn();
  while (!ready());
  return request();
};

function open(): Promise<FrontendUnderTest> {
  const database = new MemoryDatabase();
  const clock = () => instant(0n);
  return Promise.resolve({
    frontend: createMemoryFrontend(database, clock, takingTurns),
    other: createMemoryFrontend(database, clock, takingTurns),
    hourlyFlow(name) {
      const sink = { schema: 'public', table: `sink of ${name}` };
      database.sink(sink);
      const definition = hourlyDefinition(name, { schema: 'public', table: 'source' }, sink);
      return Promise.resolve({ ...definition, query: 'values >= 0' });
    },
    insertRows(rows) {
      for (const row of rows) {
        const id = database.nextId();
        database.source.set(id, { ...row, id });
      }
      return Promise.resolve();
    },
    deleteRows({ start, end }) {
      for (const [id, { time }] of database.source) if (start <= time && time < end) database.source.delete(id);
      return Promise.resolve();
    },
    sinkRows: ({ sink }) => Promise.resolve([...database.sink(sink).values()]),
    close: () => Promise.resolve(),
  });
}

frontendContract('the in-memory database of the model', open);
