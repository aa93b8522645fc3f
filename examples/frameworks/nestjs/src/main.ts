import { Controller, Get, HttpCode, Module, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { createMiddleware } from 'deskbell/service';
import { sender, service } from '../push.js';

@Controller()
class AppController {
  @Get() page() {
    return `<!doctype html>
<script type="module" src="/push/client/subscribe.js"></script>
<deskbell-subscribe></deskbell-subscribe>`;
  }

  @Post('notify') @HttpCode(204) async notify() {
    await sender.broadcast('all', { title: 'Hello', message: 'Tea is ready' });
  }
}

@Module({ controllers: [AppController] })
class AppModule {}

const app = await NestFactory.create(AppModule);
app.use('/push', createMiddleware(service));
await app.listen(process.env['PORT'] ?? 3000);
