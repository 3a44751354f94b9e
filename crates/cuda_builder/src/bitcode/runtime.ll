; What rustc's code calls by C names. Linked where something asks for it. `memcpy` and its kin are LLVM intrinsics, which
; `memory_ops` writes out; calls by name become them.

define i32 @memcmp(ptr readonly %a, ptr readonly %b, i64 %n) nounwind {
start:
  %none = icmp eq i64 %n, 0
  br i1 %none, label %equal, label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %same ]
  %pa = getelementptr i8, ptr %a, i64 %i
  %pb = getelementptr i8, ptr %b, i64 %i
  %va = load i8, ptr %pa
  %vb = load i8, ptr %pb
  %eq = icmp eq i8 %va, %vb
  br i1 %eq, label %same, label %differ
same:
  %next = add i64 %i, 1
  %done = icmp eq i64 %next, %n
  br i1 %done, label %equal, label %loop
differ:
  %wa = zext i8 %va to i32
  %wb = zext i8 %vb to i32
  %d = sub i32 %wa, %wb
  ret i32 %d
equal:
  ret i32 0
}

define i32 @bcmp(ptr readonly %a, ptr readonly %b, i64 %n) nounwind {
  %r = call i32 @memcmp(ptr %a, ptr %b, i64 %n)
  ret i32 %r
}

define i64 @strlen(ptr readonly %s) nounwind {
start:
  br label %loop
loop:
  %i = phi i64 [ 0, %start ], [ %next, %loop ]
  %p = getelementptr i8, ptr %s, i64 %i
  %c = load volatile i8, ptr %p
  %next = add i64 %i, 1
  %end = icmp eq i8 %c, 0
  br i1 %end, label %done, label %loop
done:
  ret i64 %i
}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define ptr @memcpy(ptr %to, ptr %from, i64 %n) nounwind alwaysinline {
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret ptr %to
}

define ptr @memmove(ptr %to, ptr %from, i64 %n) nounwind alwaysinline {
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 %n, i1 false)
  ret ptr %to
}

define ptr @memset(ptr %to, i32 %value, i64 %n) nounwind alwaysinline {
  %byte = trunc i32 %value to i8
  call void @llvm.memset.p0.i64(ptr %to, i8 %byte, i64 %n, i1 false)
  ret ptr %to
}
