import { App } from 'aws-cdk-lib';
import { SluiceStack } from './sluice-stack.ts';

const app = new App();

/** `--context connectionsSecret=…`: see `SluiceStackProps`. */
const connectionsSecret: unknown = app.node.tryGetContext('connectionsSecret') ?? 'sluice/connections';
new SluiceStack(app, 'Sluice', { connectionsSecret: String(connectionsSecret) });
app.synth();
