/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdbool.h>
#include <ucontext.h>

#include "mem.h"
#include "mem_copy.h"

#if MEM_COPY_GUARDED

/*
 * In assembly, because any access may fault: the routines use no stack and no
 * callee-saved register, so that the exit is the same from every instruction.
 * (The Linux kernel's user copies work the same way.)
 */
__asm__(".pushsection .text\n"
	".p2align 5\n"
	".globl mem_copy_raw, mem_copy_words_raw, mem_guarded_end, mem_faulted\n"
	".hidden mem_copy_raw, mem_copy_words_raw, mem_guarded_end, mem_faulted\n"
	".type mem_copy_raw, @function\n"
	"mem_copy_raw:\n"
	"	.cfi_startproc\n"
	"	cmpq $16, %rdx\n"
	"	jb 2f\n"
	"	cmpq $1024, %rdx\n"
	"	jae 4f\n"
	/* 16 bytes at a time; the last 16 overlap copied ones. */
	"	leaq -16(%rdi,%rdx), %r8\n"
	"	movdqu -16(%rsi,%rdx), %xmm1\n"
	"	subq $16, %rdx\n"
	"	jbe 3f\n"
	"1:	movdqu (%rsi), %xmm0\n"
	"	movdqu %xmm0, (%rdi)\n"
	"	addq $16, %rsi\n"
	"	addq $16, %rdi\n"
	"	subq $16, %rdx\n"
	"	ja 1b\n"
	"3:	movdqu %xmm1, (%r8)\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"2:	testb $8, %dl\n"
	"	jz 5f\n"
	"	movq (%rsi), %rax\n"
	"	movq %rax, (%rdi)\n"
	"	addq $8, %rsi\n"
	"	addq $8, %rdi\n"
	"5:	testb $4, %dl\n"
	"	jz 6f\n"
	"	movl (%rsi), %eax\n"
	"	movl %eax, (%rdi)\n"
	"	addq $4, %rsi\n"
	"	addq $4, %rdi\n"
	"6:	testb $2, %dl\n"
	"	jz 7f\n"
	"	movw (%rsi), %ax\n"
	"	movw %ax, (%rdi)\n"
	"	addq $2, %rsi\n"
	"	addq $2, %rdi\n"
	"7:	testb $1, %dl\n"
	"	jz 8f\n"
	"	movb (%rsi), %al\n"
	"	movb %al, (%rdi)\n"
	"8:	xorl %eax, %eax\n"
	"	ret\n"
	"4:	movq %rdx, %rcx\n"
	"	rep movsb\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size mem_copy_raw, . - mem_copy_raw\n"
	".type mem_copy_words_raw, @function\n"
	"mem_copy_words_raw:\n"
	"	.cfi_startproc\n"
	"	leaq (%rsi,%rdx,4), %rdx\n"
	"	subq %rsi, %rdi\n"
	"1:	movl (%rsi), %eax\n"
	"	movl %eax, (%rdi,%rsi)\n"
	"	movl 4(%rsi), %eax\n"
	"	movl %eax, 4(%rdi,%rsi)\n"
	"	movl 8(%rsi), %eax\n"
	"	movl %eax, 8(%rdi,%rsi)\n"
	"	movl 12(%rsi), %eax\n"
	"	movl %eax, 12(%rdi,%rsi)\n"
	"	addq $16, %rsi\n"
	"	cmpq %rdx, %rsi\n"
	"	jb 1b\n"
	"	xorl %eax, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size mem_copy_words_raw, . - mem_copy_words_raw\n"
	"mem_guarded_end:\n"
	".type mem_faulted, @function\n"
	"mem_faulted:\n"
	"	.cfi_startproc\n"
	"	movl $-1, %eax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size mem_faulted, . - mem_faulted\n"
	".popsection\n");

extern const char mem_guarded_end[], mem_faulted[];

bool
mem_fault_fixup(void *ucontext)
{
	greg_t *regs = ((ucontext_t *)ucontext)->uc_mcontext.gregs;
	uintptr_t ip = (uintptr_t)regs[REG_RIP];

	if (ip < (uintptr_t)mem_copy_raw || ip >= (uintptr_t)mem_guarded_end)
		return false;
	regs[REG_RIP] = (greg_t)(uintptr_t)mem_faulted;
	return true;
}

#else

bool
mem_fault_fixup(void *ucontext)
{
	(void)ucontext;
	return false; /* copies go through the kernel */
}

#endif
