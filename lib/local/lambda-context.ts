import type { Context } from 'aws-lambda';

/** An invocation's context as Lambda gives it; only what a handler can use for its work. */
export function lambdaContext(options: {
  readonly functionName: string;
  readonly requestId: string;
  readonly timeoutMs: number;
  /** Milliseconds that only ever grow. */
  readonly elapsed: () => number;
}): Context {
  const end = options.elapsed() + options.timeoutMs;
  const { functionName, requestId } = options;
  return {
    callbackWaitsForEmptyEventLoop: false,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:local:000000000000:function:${functionName}`,
    memoryLimitInMB: '256',
    awsRequestId: requestId,
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(end - options.elapsed())),
    done: unsupported,
    fail: unsupported,
    succeed: unsupported,
  };
}

function unsupported(): never {
  throw new Error('Handlers answer with a promise.');
}
