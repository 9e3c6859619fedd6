export { counter, ENCODINGS, type Encoding } from './encodings.ts'
export { ExactTokenMeterService, ExactTokenMeterService as default } from './service.ts'
