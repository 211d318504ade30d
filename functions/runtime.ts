import { setTimeout as wait } from 'node:timers/promises';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { EngineDeps } from '../lib/engine/deps.ts';
import { SluiceError } from '../lib/errors.ts';
import type { Frontend } from '../lib/frontend/frontend.ts';
import { createPostgresFrontend } from '../lib/frontend/postgres/postgres-frontend.ts';
import { createEventBridgeSchedule } from '../lib/schedule/eventbridge-schedule.ts';
import { createDynamoClient } from '../lib/store/dynamodb/dynamo-client.ts';
import { createDynamoStore } from '../lib/store/dynamodb/dynamo-store.ts';
import { engineLog } from '../lib/telemetry/engine-log.ts';
import { createLogger, type Logger } from '../lib/telemetry/logger.ts';
import { fromEpochMillis } from '../lib/window/instant.ts';
import { readSettings, type Settings } from './settings.ts';

/** What every handler works with, in Lambda and anywhere else. */
export interface HandlerDeps {
  readonly engine: EngineDeps;
  readonly log: Logger;
}

/** Shorter than Lambda's time for a start, so that an unreachable service is named in the log instead of a timeout. */
const REQUEST_LIMITS = { connectionTimeout: 1_000, requestTimeout: 3_000, throwOnRequestTimeout: true };

/** Clients are created here, and connect when they are first used. */
export function createRuntime(settings: Settings): HandlerDeps {
  const log = createLogger({ level: settings.logLevel });
  const clock = () => fromEpochMillis(Date.now());
  return {
    log,
    engine: {
      store: createDynamoStore({ client: createDynamoClient(), tableName: settings.tableName, clock }),
      frontend: frontendsOf(settings),
      schedule: createEventBridgeSchedule({
        client: new EventBridgeClient({ maxAttempts: 3, requestHandler: REQUEST_LIMITS }),
        eventBusName: settings.eventBusName,
        rulePrefix: settings.rulePrefix,
        tickFunctionArn: settings.tickFunctionArn,
        wait,
      }),
      clock,
      wait,
      log: engineLog(log),
    },
  };
}

function frontendsOf({ connections, namespace }: Settings): (name: string) => Frontend {
  const opened = new Map<string, Frontend>();
  return (name) => {
    const open = opened.get(name);
    if (open !== undefined) return open;
    const connection = Object.hasOwn(connections, name) ? connections[name] : undefined;
    if (connection === undefined) {
      const known = Object.keys(connections).join(', ');
      throw new SluiceError('invalid_option', `there is no connection ${JSON.stringify(name)}; there are ${known}`);
    }
    const frontend = createPostgresFrontend({ connection, namespace });
    opened.set(name, frontend);
    return frontend;
  };
}

/**
 * A handler that is built from the environment at its first event and kept: importing the module needs no environment, and a
 * wrong one fails each event with its reason.
 */
export function onFirstEvent<Event, Context, Answer>(
  create: (deps: HandlerDeps) => (event: Event, context: Context) => Promise<Answer>,
): (event: Event, context: Context) => Promise<Answer> {
  let handler: ReturnType<typeof create> | null = null;
  return async (event, context) => {
    handler ??= create(createRuntime(readSettings(process.env)));
    return await handler(event, context);
  };
}
