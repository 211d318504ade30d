import { flowStoreContract } from './flow-store-suite.ts';
import { dynamoUnderTest } from './store-dynamo-under-test.ts';

flowStoreContract('DynamoDB on dynalite', () => dynamoUnderTest());
