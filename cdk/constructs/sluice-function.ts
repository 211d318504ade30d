import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Duration, RemovalPolicy } from 'aws-cdk-lib';
import { Architecture, Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { Construct } from 'constructs';
import { bundleFunction, type FunctionName, LAMBDA_HANDLER } from './bundling.ts';

const BUNDLES = fileURLToPath(new URL('../../dist/functions/', import.meta.url));

export interface SluiceFunctionProps {
  readonly name: FunctionName;
  readonly description: string;
  readonly timeout: Duration;
  readonly memoryMb: number;
  /** Only for functions that are invoked by events: how often, and for how long, Lambda tries. */
  readonly retryAttempts?: number;
  readonly maxEventAge?: Duration;
}

/** One of the handlers, bundled when the app is synthesized. */
export class SluiceFunction extends LambdaFunction {
  constructor(scope: Construct, id: string, { name, memoryMb, ...props }: SluiceFunctionProps) {
    const directory = join(BUNDLES, name);
    bundleFunction(name, directory);
    super(scope, id, {
      ...props,
      code: Code.fromAsset(directory),
      handler: LAMBDA_HANDLER,
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      memorySize: memoryMb,
      environment: { NODE_OPTIONS: '--enable-source-maps' },
      logGroup: new LogGroup(scope, `${id}Logs`, {
        retention: RetentionDays.ONE_MONTH,
        removalPolicy: RemovalPolicy.DESTROY,
      }),
    });
  }
}
