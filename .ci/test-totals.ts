// Prints the totals of a vitest JSON report as one line, and fails unless every test of every file ran and passed.
import { readFileSync } from 'node:fs';

interface Report {
  readonly numTotalTests: number;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly testResults: readonly { status: string; assertionResults: readonly { status: string }[] }[];
}

const [file = 'reports/tests.json'] = process.argv.slice(2);
const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
// A file that fails before its first test (an import, a hook) is a failure that no test stands for.
const brokenFiles = report.testResults.filter(
  ({ status, assertionResults }) => status === 'failed' && assertionResults.every((test) => test.status !== 'failed'),
).length;
const failed = report.numFailedTests + brokenFiles;
const notRun = report.numTotalTests - report.numPassedTests - report.numFailedTests;

process.stdout.write(`${report.numPassedTests} passed, ${failed} failed${notRun > 0 ? `, ${notRun} not run` : ''}\n`);
process.exitCode = report.numPassedTests > 0 && failed + notRun === 0 ? 0 : 1;
