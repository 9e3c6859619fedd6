export { estimator, imageTokens, textTokens, type Estimator, type EstimatorOptions } from './estimate.ts'
export { tokenMeter, type MeasureOptions, type Measurement, type RequestEnvelope, type TokenMeter } from './measure.ts'
export { TokenMeterService, TokenMeterService as default } from './service.ts'
