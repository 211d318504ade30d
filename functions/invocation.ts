import { randomBytes } from 'node:crypto';
import type { Context } from 'aws-lambda';
import { type Instant, plus } from '../lib/window/instant.ts';

/** When this invocation is ended from outside. */
export function deadlineOf(context: Pick<Context, 'getRemainingTimeInMillis'>, now: Instant): Instant {
  return plus(now, BigInt(Math.trunc(context.getRemainingTimeInMillis())) * 1000n);
}

/** A request that Lambda delivers twice has one request id; two holders of a lease must not have one name. */
export function ownerOf(context: Pick<Context, 'awsRequestId'>): string {
  return `${context.awsRequestId}/${randomBytes(4).toString('hex')}`;
}
