(* Means: an abstract linear functional, independence, and the moments that a theory declares. No measure theory: what is
   known of the functional stands in the statements. *)
From Coq Require Import Reals Lra Lia Arith List FunctionalExtensionality.
From DeriveCoq Require Import Derive.
Import ListNotations.
Open Scope R_scope.

(* ---- what must be believed: the meaning of what stands in the statements ---- *)
(* A mean of functions of a sample point: linear on those that are integrable. *)
Record expectation (Omega : Type) : Type := {
  integrable : (Omega -> R) -> Prop;
  Mean : (Omega -> R) -> R;
  of_constant : forall c, integrable (fun _ => c) /\ Mean (fun _ => c) = c;
  of_sum : forall f g, integrable f -> integrable g ->
    integrable (fun om => f om + g om) /\ Mean (fun om => f om + g om) = Mean f + Mean g;
  of_multiple : forall c f, integrable f -> integrable (fun om => c * f om) /\ Mean (fun om => c * f om) = c * Mean f
}.
Arguments integrable {Omega}.
Arguments Mean {Omega}.
Definition has_mean {Omega} (M : expectation Omega) (f : Omega -> R) (v : R) : Prop := integrable M f /\ Mean M f = v.
Definition Var {Omega} (M : expectation Omega) (f : Omega -> R) : R := Mean M (fun om => f om ^ 2) - Mean M f ^ 2.
Definition Cov {Omega} (M : expectation Omega) (f g : Omega -> R) : R :=
  Mean M (fun om => f om * g om) - Mean M f * Mean M g.
(* random(mean=m, variance=v); normal(m, v), by its moments *)
Definition moments {Omega} (M : expectation Omega) (X : Omega -> R) (m v : R) : Prop :=
  has_mean M X m /\ has_mean M (fun om => (X om - m) ^ 2) v.
Fixpoint normal_moment (m v : R) (k : nat) : R :=
  match k with
  | O => 1
  | S j => m * normal_moment m v j + match j with O => 0 | S i => INR j * v * normal_moment m v i end
  end.
Definition normally {Omega} (M : expectation Omega) (X : Omega -> R) (m v : R) : Prop :=
  forall k, has_mean M (fun om => X om ^ k) (normal_moment m v k).
(* Arrays of variables, each with its size; an entry is the number of its array and its place there. They are
   independent: the mean of a product of powers of different entries, each with a mean, is the product of the means. *)
Definition arrays (Omega : Type) : Type := list (nat * (nat -> Omega -> R)).
Definition entry {Omega} (A : arrays Omega) (e : nat * nat) : Omega -> R := snd (nth (fst e) A (O, fun _ _ => 0)) (snd e).
Definition among {Omega} (A : arrays Omega) (e : nat * nat) : Prop := (snd e < fst (nth (fst e) A (O, fun _ _ => 0%R)))%nat.
Fixpoint powers {Omega} (A : arrays Omega) (l : list (nat * nat * nat)) (om : Omega) : R :=
  match l with [] => 1 | (e, k) :: rest => entry A e om ^ k * powers A rest om end.
Fixpoint means {Omega} (M : expectation Omega) (A : arrays Omega) (l : list (nat * nat * nat)) : R :=
  match l with [] => 1 | (e, k) :: rest => Mean M (fun om => entry A e om ^ k) * means M A rest end.
Fixpoint have_means {Omega} (M : expectation Omega) (A : arrays Omega) (l : list (nat * nat * nat)) : Prop :=
  match l with [] => True | (e, k) :: rest => among A e /\ integrable M (fun om => entry A e om ^ k) /\ have_means M A rest end.
Definition independent {Omega} (M : expectation Omega) (A : arrays Omega) : Prop :=
  forall l, NoDup (map fst l) -> have_means M A l -> has_mean M (powers A l) (means M A l).

(* ---- linearity ---- *)
Section Means.
Context {Omega : Type} (M : expectation Omega).
Implicit Types f g : Omega -> R.
Lemma mean_same f g v : (forall om, f om = g om) -> has_mean M g v -> has_mean M f v.
Proof. intros H. replace f with g; [trivial|]. apply functional_extensionality. intros om. symmetry. apply H. Qed.
Lemma mean_ext f g : (forall om, f om = g om) -> Mean M f = Mean M g.
Proof. intros H. f_equal. apply functional_extensionality. exact H. Qed.
Lemma mean_is f v : has_mean M f v -> Mean M f = v.
Proof. intros [_ H]. exact H. Qed.
Lemma mean_eq f a b : has_mean M f a -> a = b -> has_mean M f b.
Proof. intros H <-. exact H. Qed.
Lemma mean_of_constant c : has_mean M (fun _ => c) c.
Proof. apply of_constant. Qed.
Lemma mean_of_plus f g a b : has_mean M f a -> has_mean M g b -> has_mean M (fun om => f om + g om) (a + b).
Proof. intros [F <-] [G <-]. apply of_sum; assumption. Qed.
Lemma mean_of_multiple c f a : has_mean M f a -> has_mean M (fun om => c * f om) (c * a).
Proof. intros [F <-]. apply of_multiple; assumption. Qed.
Lemma mean_of_sum n (F : nat -> Omega -> R) v : (forall k, (k < n)%nat -> has_mean M (F k) (v k)) ->
  has_mean M (fun om => Sum n (fun k => F k om)) (Sum n v).
Proof.
  induction n; intros H; simpl; [apply mean_of_constant|].
  apply (mean_of_plus (fun om => Sum n (fun k => F k om)) (F n)); auto.
Qed.
Lemma moments_1 X m v : moments M X m v -> has_mean M (fun om => X om ^ 1) m.
Proof. intros [H _]. revert H. apply mean_same. intros; ring. Qed.
Lemma moments_2 X m v : moments M X m v -> has_mean M (fun om => X om ^ 2) (v + m ^ 2).
Proof.
  intros [H S]. eapply mean_eq.
  - apply (mean_same _ (fun om => (X om - m) ^ 2 + (2 * m * X om + - m ^ 2 * 1))); [intros; ring|].
    apply mean_of_plus; [exact S|]. apply mean_of_plus; [apply mean_of_multiple, H|apply mean_of_multiple, mean_of_constant].
  - cbv beta. ring.
Qed.

(* ---- independence ---- *)
Fixpoint known (A : arrays Omega) (l : list (nat * nat * nat * R)) : Prop :=
  match l with [] => True | (e, k, v) :: rest => among A e /\ has_mean M (fun om => entry A e om ^ k) v /\ known A rest end.
Fixpoint worth (l : list (nat * nat * nat * R)) : R := match l with [] => 1 | (_, v) :: rest => v * worth rest end.
Lemma independent_product A l f v : independent M A -> NoDup (map fst (map fst l)) -> known A l ->
  (forall om, f om = powers A (map fst l) om) -> v = worth l -> has_mean M f v.
Proof.
  intros D N K F ->. apply (mean_same _ _ _ F).
  assert (H : have_means M A (map fst l) /\ means M A (map fst l) = worth l).
  { clear N F. induction l as [|[[e k] v'] l IH]; [split; [exact I|reflexivity]|].
    destruct K as [B [[H1 H2] K]]. destruct (IH K) as [H3 H4]. simpl. rewrite H2, H4. repeat split; assumption. }
  destruct H as [H1 H2]. rewrite <- H2. apply D; assumption.
Qed.
End Means.

(* ---- tactics ---- *)
Ltac different := repeat (apply NoDup_cons; [let H := fresh in intro H; cbn in H; decompose [or] H; first [congruence | contradiction] |]); apply NoDup_nil.
Ltac integrable_power := match goal with
  | H : integrable _ _ |- _ => exact H
  | H : forall _, _ |- integrable _ _ => apply H; ix end.
Ltac worth_it := cbn [worth]; rewrite ?delta_same; rewrite ?delta_diff by congruence; cbn [INR normal_moment]; ring.
