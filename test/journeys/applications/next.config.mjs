export default process.env.CONFIGURATION ? JSON.parse(process.env.CONFIGURATION) : {};
