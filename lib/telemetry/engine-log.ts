import type { EngineEvent } from '../engine/deps.ts';
import { SluiceError } from '../errors.ts';
import type { Logger } from './logger.ts';

/** One line per decision of the engine: flow, action, epoch, and the reason as the message. */
export function engineLog(logger: Logger): (event: EngineEvent) => void {
  return ({ flow, action, reason, epoch, error }) => {
    const line = {
      flow,
      action,
      ...(epoch === undefined ? {} : { epoch: String(epoch) }),
      ...(error === undefined ? {} : { err: error }),
    };
    // A plan that failed has its reason; its windows are dirty still, and the next tick tries again.
    if (error === undefined) logger[action === 'failed' ? 'warn' : 'info'](line, reason);
    else if (error instanceof SluiceError && error.retryable) logger.warn(line, reason);
    else logger.error(line, reason);
  };
}
